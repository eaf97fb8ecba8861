//===- CompilerTest.cpp - the compiler from C -----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc-c/compiler.h"
#include "kvc-rt/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

/// Appends to a cache and attends to it.
static const char kDecode[] = R"mlir(
!cache = !kvc.cache<page = 16, k: 1x8xf32, v: 1x8xf32>
func.func @decode(%q: tensor<?x1x8xf32>, %k: tensor<?x1x8xf32>, %v: tensor<?x1x8xf32>,
                  %cache: !cache, %batch: !kvc.batch) -> tensor<?x1x8xf32> {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x1x8xf32>, tensor<?x1x8xf32>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal] {scale = 1.0 : f32}
      : !cache, tensor<?x1x8xf32> -> tensor<?x1x8xf32>
  return %o : tensor<?x1x8xf32>
}
)mlir";

namespace {
class CompilerTest : public testing::TestWithParam<kvc_target_t> {
protected:
  CompilerTest() : compiler(kvc_compiler_create()) {
    options.struct_size = sizeof(options);
  }
  ~CompilerTest() override {
    kvc_compiled_release(compiled);
    kvc_compiler_release(compiler);
  }

  kvc_status_t compile(const std::string &text) {
    return kvc_compile(compiler, text.data(), text.size(), &options, &compiled);
  }
  std::string getMessages() { return kvc_compiler_messages(compiler); }

  kvc_compiler_t *compiler;
  kvc_compile_options_t options = {};
  kvc_compiled_t *compiled = nullptr;
};

/// One sequence of `numTokens` tokens and the tensors of a call of @decode.
struct Call {
  explicit Call(const kvc_program_t *program) {
    auto *blob = reinterpret_cast<const char *>(program->blob);
    auto *type =
        reinterpret_cast<const kvc_cache_type_t *>(blob + program->blob->cache_types);
    kvc_pool_options_t poolOptions = {sizeof(poolOptions), KVC_POOL_DEBUG_FILL, 4, 1, 0, 0, nullptr};
    EXPECT_EQ(kvc_pool_create(type, &poolOptions, &pool), KVC_STATUS_OK) << kvc_last_message();
    kvc_sequence_t sequence = 0;
    EXPECT_EQ(kvc_sequence_create(pool, &sequence), KVC_STATUS_OK);
    EXPECT_EQ(kvc_sequence_append(pool, sequence, 1), KVC_STATUS_OK);
    int32_t queryLen = 1;
    EXPECT_EQ(kvc_batch_create(pool, &sequence, &queryLen, 1, &batch), KVC_STATUS_OK);
    EXPECT_EQ(kvc_pool_view(pool, 0, &view), KVC_STATUS_OK);
    EXPECT_EQ(kvc_stream_create_cpu(1, &stream), KVC_STATUS_OK);
  }
  ~Call() {
    kvc_stream_release(stream);
    kvc_batch_release(batch);
    kvc_pool_release(pool);
  }

  kvc_status_t run(const kvc_program_t *program) {
    auto tensor = [](float *data) {
      return kvc_tensor_t{data, {1, 1, 8}, {8, 8, 1}, 3, KVC_DTYPE_F32};
    };
    kvc_tensor_t tensors[] = {tensor(q), tensor(k), tensor(v), tensor(o)};
    const void *args[] = {&tensors[0], &tensors[1], &tensors[2],
                          &view, kvc_batch_view(batch), &tensors[3]};
    return kvc_program_run(program, 0, stream, args, 6);
  }

  float q[8] = {1, 2}, k[8] = {3, 4}, v[8] = {5, 6, 7, 8, 9, 10, 11, 12}, o[8] = {};
  kvc_pool_t *pool = nullptr;
  kvc_batch_object_t *batch = nullptr;
  kvc_stream_t *stream = nullptr;
  kvc_cache_view_t view = {};
};
} // namespace

/// With one token in the cache, attention returns its value.
static void expectRuns(kvc_compiled_t *compiled) {
  ASSERT_NE(kvc_compiled_query(compiled), nullptr);
  const kvc_program_t *program = nullptr;
  ASSERT_EQ(kvc_program_load(kvc_compiled_query(compiled), &program), KVC_STATUS_OK)
      << kvc_last_message();
  Call call(program);
  ASSERT_EQ(call.run(program), KVC_STATUS_OK) << kvc_last_message();
  EXPECT_THAT(call.o, testing::ElementsAreArray(call.v));
}

TEST(CompilerVersionTest, NamesItselfAndLLVM) {
  EXPECT_THAT(kvc_compiler_version(), StartsWith("kvc "));
  EXPECT_THAT(kvc_compiler_version(), HasSubstr("LLVM 22"));
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

TEST_P(CompilerTest, RunsWhatItCompiles) {
  options.target = GetParam();
  ASSERT_EQ(compile(kDecode), KVC_STATUS_OK) << getMessages();
  size_t size = 1;
  EXPECT_EQ(kvc_compiled_data(compiled, &size), nullptr);
  EXPECT_EQ(size, 0u);
  EXPECT_GT(kvc_compiled_milliseconds(compiled), 0);
  expectRuns(compiled);
}

TEST_P(CompilerTest, CodeOutlivesTheCompiler) {
  options.target = GetParam();
  ASSERT_EQ(compile(kDecode), KVC_STATUS_OK) << getMessages();
  kvc_compiler_release(compiler);
  compiler = nullptr;
  expectRuns(compiled);
}

TEST_P(CompilerTest, EmitsObjectsAndTexts) {
  options.target = GetParam();
  options.tier = "plain";
  options.program_name = "mine";
  std::pair<kvc_emit_t, std::string> cases[] = {
      {KVC_EMIT_OBJECT, "\x7f""ELF"},
      {KVC_EMIT_LLVMIR, "define ptr @mine_program_query(i32"},
      {KVC_EMIT_MLIR, "llvm.func @mine_program_query("},
  };
  for (auto &[emit, expected] : cases) {
    options.emit = emit;
    ASSERT_EQ(compile(kDecode), KVC_STATUS_OK) << getMessages();
    size_t size = 0;
    const char *data = kvc_compiled_data(compiled, &size);
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(data[size], '\0');
    EXPECT_NE(std::string(data, size).find(expected), std::string::npos);
    EXPECT_EQ(kvc_compiled_query(compiled), nullptr);
    kvc_compiled_release(compiled);
    compiled = nullptr;
  }
}

// Two at once, each many times.
TEST_P(CompilerTest, CompilersWorkInParallel) {
  auto work = [] {
    kvc_compiler_t *compiler = kvc_compiler_create();
    kvc_compile_options_t options = {};
    options.struct_size = sizeof(options);
    options.target = GetParam();
    for (int i = 0; i < 4; ++i) {
      kvc_compiled_t *compiled = nullptr;
      EXPECT_EQ(kvc_compile(compiler, kDecode, sizeof(kDecode) - 1, &options, &compiled),
                KVC_STATUS_OK)
          << kvc_compiler_messages(compiler);
      expectRuns(compiled);
      kvc_compiled_release(compiled);
      compiled = nullptr;
      EXPECT_NE(kvc_compile(compiler, "oops", 4, &options, &compiled), KVC_STATUS_OK);
      EXPECT_THAT(kvc_compiler_messages(compiler), StartsWith("<input>:1:1: error: "));
    }
    kvc_compiler_release(compiler);
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
}

INSTANTIATE_TEST_SUITE_P(Targets, CompilerTest,
                         testing::Values(KVC_TARGET_CPU, KVC_TARGET_DEFINITION),
                         [](const testing::TestParamInfo<kvc_target_t> &info) {
                           return info.param == KVC_TARGET_CPU ? "CPU" : "Definition";
                         });

using CompilerGPUTest = CompilerTest;

// The shared library has what PTX takes, and a program holds it.
TEST_F(CompilerGPUTest, EmbedsPTX) {
  std::string text = kDecode;
  for (size_t at; (at = text.find("1x8xf32")) != std::string::npos;)
    text.replace(at, 7, "1x64xf16");
  options.target = KVC_TARGET_GPU;
  ASSERT_EQ(compile(text), KVC_STATUS_OK) << getMessages();
  ASSERT_NE(kvc_compiled_query(compiled), nullptr);
  const kvc_program_t *program = nullptr;
  ASSERT_EQ(kvc_program_load(kvc_compiled_query(compiled), &program), KVC_STATUS_OK)
      << kvc_last_message();
  auto *blob = reinterpret_cast<const char *>(program->blob);
  ASSERT_EQ(program->blob->num_images, 1u);
  auto *image = reinterpret_cast<const kvc_image_desc_t *>(blob + program->blob->images);
  EXPECT_THAT(blob + image->data, HasSubstr(".entry decode_attention_decode("));
  EXPECT_EQ(program->blob->num_kernels, 7u);
}

//===----------------------------------------------------------------------===//
// What goes wrong
//===----------------------------------------------------------------------===//

using CompilerErrorTest = CompilerTest;

TEST_F(CompilerErrorTest, ReportsBadText) {
  EXPECT_EQ(compile("func.func @f( {"), KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(getMessages(), StartsWith("<input>:1:14: error: "));
  EXPECT_EQ(compiled, nullptr);
  // Not that of the last call any more.
  EXPECT_EQ(compile("module {\n  nobody.knows\n}"), KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(getMessages(), StartsWith("<input>:2:3: error: "));
  EXPECT_THAT(getMessages(), testing::Not(HasSubstr("<input>:1:14")));
}

TEST_F(CompilerErrorTest, TextMayHoldAnything) {
  for (const std::string &text :
       {std::string("\0", 1), std::string("module {\0}", 10), std::string("\xff\xfe\xfd"),
        std::string("ML\xefR"), std::string("ML\xefR\x0d\x01"), std::string("// only a comment"),
        std::string("\"")})
    EXPECT_NE(compile(text), KVC_STATUS_OK);
  EXPECT_EQ(compiled, nullptr);
}

TEST_F(CompilerErrorTest, NotesFollowTheirError) {
  EXPECT_EQ(compile("func.func @f() {\n  return\n}\nfunc.func @f() {\n  return\n}"),
            KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(getMessages(),
              MatchesRegex("<input>:4:1: error: redefinition of symbol named 'f'\n"
                           "<input>:1:1: note: see existing symbol definition here\n"));
}

TEST_F(CompilerErrorTest, RefusesTextWithoutFunctions) {
  EXPECT_EQ(compile(""), KVC_STATUS_UNSUPPORTED);
  EXPECT_THAT(getMessages(), HasSubstr("error: expected at least one public function"));
}

TEST_F(CompilerErrorTest, RefusesUnknownOptions) {
  auto expectRefused = [&](const std::string &message) {
    EXPECT_EQ(compile(kDecode), KVC_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(getMessages(), "error: " + message + "\n");
    options = {};
    options.struct_size = sizeof(options);
  };
  options.tier = "avx1024";
  expectRefused("expected tier to be amx, avx512_bf16, avx512, avx2 or plain, got 'avx1024'");
  options.layout = "diagonal";
  expectRefused("expected layout to be packed or row_major, got 'diagonal'");
  options.precision = "f16";
  expectRefused("expected precision to be f32 or f64, got 'f16'");
  options.program_name = "a-b";
  expectRefused("expected program-name to be a C identifier, got 'a-b'");
  options.cpu = "z80";
  expectRefused("expected cpu to be a processor of x86_64 known to LLVM, got 'z80'");
  options.features = "+teleport";
  expectRefused("expected a feature known to LLVM, got 'teleport'");
  options.split = -1;
  expectRefused("expected split to be at least 1, got -1");
  options.cache_page = 257;
  expectRefused("expected cache-page to be from 1 to 256 tokens, or 0, got 257");
  options.emit = static_cast<kvc_emit_t>(7);
  expectRefused("expected emit to be from 0 to 4, got 7");
  options.target = static_cast<kvc_target_t>(7);
  expectRefused("expected target to be from 0 to 2, got 7");
  options.emit = KVC_EMIT_PTX;
  expectRefused("expected target gpu to emit PTX");
  for (uint32_t version : {1u, 79u, 89u, 91u}) {
    options.target = KVC_TARGET_GPU;
    options.emit = KVC_EMIT_PTX;
    options.ptx_version = version;
    expectRefused("expected a PTX version (times ten) of 80 to 88 or 90, got " +
                  std::to_string(version));
  }
  options.target = KVC_TARGET_GPU;
  options.emit = KVC_EMIT_PTX;
  options.chip = "sm_70";
  expectRefused("expected chip to be sm_90a or sm_90, got 'sm_70'");
  options.struct_size = 4;
  expectRefused("expected a struct_size of options of at least 12, got 4");
}

TEST_F(CompilerErrorTest, RefusesNull) {
  EXPECT_EQ(kvc_compile(nullptr, "", 0, &options, &compiled), KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_STREQ(kvc_compiler_messages(nullptr), "expected a compiler, got null\n");
  EXPECT_EQ(kvc_compile(compiler, nullptr, 3, &options, &compiled), KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(getMessages(), "error: expected text, got null\n");
  EXPECT_EQ(kvc_compile(compiler, "", 0, &options, nullptr), KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(getMessages(), "error: expected a place for the result, got null\n");
  kvc_compiled_release(nullptr);
  kvc_compiler_release(nullptr);
  EXPECT_EQ(kvc_compiled_data(nullptr, nullptr), nullptr);
  EXPECT_EQ(kvc_compiled_query(nullptr), nullptr);
  EXPECT_EQ(kvc_compiled_milliseconds(nullptr), 0);
}
