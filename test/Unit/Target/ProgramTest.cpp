//===- ProgramTest.cpp - from the LLVM dialect to a running program -------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/HostABI.h"
#include "kvc/Conversion/Passes.h"
#include "kvc/Dialect/KVC/IR/KVC.h"
#include "kvc/Target/LLVM/Emit.h"
#include "kvc/Target/LLVM/JIT.h"

#include "kvc-rt/runtime.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kvc;
using testing::HasSubstr;

/// Doubles four floats, with the check that a real program makes first.
static const char kDouble[] = R"mlir(
module attributes {kvc.functions = [
  {name = "double", needs = "needs", run = "run",
   type = (tensor<4xf32>) -> tensor<4xf32>}]} {
  llvm.func @kvc.program() -> !llvm.ptr
  llvm.func @needs(%rt: !llvm.ptr, %bounds: !llvm.ptr, %needs: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    %none = llvm.mlir.constant(0 : i64) : i64
    %size = llvm.getelementptr %needs[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %none, %size : i64, !llvm.ptr
    llvm.return %ok : i32
  }
  llvm.func @run(%rt: !llvm.ptr, %stream: !llvm.ptr, %call: !llvm.ptr) -> i32 {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %program = llvm.call @kvc.program() : () -> !llvm.ptr
    %check_at = llvm.getelementptr %rt[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %check = llvm.load %check_at : !llvm.ptr -> !llvm.ptr
    %status = llvm.call %check(%program, %zero, %call)
        : !llvm.ptr, (!llvm.ptr, i32, !llvm.ptr) -> i32
    %ok = llvm.icmp "eq" %status, %zero : i32
    llvm.cond_br %ok, ^work, ^done
  ^work:
    %args_at = llvm.getelementptr %call[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %args = llvm.load %args_at : !llvm.ptr -> !llvm.ptr
    %in_tensor = llvm.load %args : !llvm.ptr -> !llvm.ptr
    %out_at = llvm.getelementptr %args[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %out_tensor = llvm.load %out_at : !llvm.ptr -> !llvm.ptr
    %in = llvm.load %in_tensor : !llvm.ptr -> !llvm.ptr
    %out = llvm.load %out_tensor : !llvm.ptr -> !llvm.ptr
    %x = llvm.load %in {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
    %y = llvm.fadd %x, %x : vector<4xf32>
    llvm.store %y, %out {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr
    llvm.br ^done
  ^done:
    llvm.return %status : i32
  }
}
)mlir";

/// Entry points that return what `call` makes of %two, as an integer; the function
/// that it calls is declared by `declaration`.
static std::string makeCaller(llvm::StringRef declaration, llvm::StringRef call) {
  return (R"mlir(
module attributes {kvc.functions = [
  {name = "f", needs = "entry", run = "entry",
   type = (memref<4x?xf16, strided<[?, 1]>>, tensor<?x2xf32>, !kvc.batch,
           !kvc.cache<page = 16, k: 8x128xbf16, v: 4x64xf32>) -> tensor<?x2xf32>}]} {
  )mlir" + declaration + R"mlir(
  llvm.func @entry(%a: !llvm.ptr, %b: !llvm.ptr, %c: !llvm.ptr) -> i32 {
    %two = llvm.mlir.constant(2.0 : f32) : f32
    %y = )mlir" + call + R"mlir(
    %i = llvm.fptosi %y : f32 to i32
    llvm.return %i : i32
  }
}
)mlir").str();
}

namespace {
class ProgramTest : public testing::Test {
protected:
  ProgramTest() : context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {
    context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
    });
  }

  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registry.insert<KVCDialect, mlir::LLVM::LLVMDialect>();
    registerLLVMTranslations(registry);
    return registry;
  }

  /// Builds and links the program in `text`; null on failure.
  std::unique_ptr<JITProgram> build(llvm::StringRef text, std::string name = "") {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return nullptr;
    mlir::PassManager pm(&context);
    BuildProgramPassOptions options;
    options.programName = name;
    options.target = "test";
    pm.addPass(createBuildProgramPass(options));
    if (failed(pm.run(*module)))
      return nullptr;
    auto emitError = [&] { return module->emitError(); };
    auto target = resolveCPUTarget("plain", "", "", emitError);
    if (failed(target))
      return nullptr;
    auto object = emitObject(*module, *target);
    if (failed(object))
      return nullptr;
    auto program =
        JITProgram::create(*object, *target, getQuerySymbol(name), emitError);
    return succeeded(program) ? std::move(*program) : nullptr;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string messages;
};
} // namespace

// What the runtime loads, checks and runs.
TEST_F(ProgramTest, RunsInTheRuntime) {
  auto code = build(kDouble);
  ASSERT_TRUE(code) << messages;
  const kvc_program_t *program = nullptr;
  ASSERT_EQ(kvc_program_load(code->getQuery(), &program), KVC_STATUS_OK) << kvc_last_message();
  uint32_t function = 9;
  ASSERT_EQ(kvc_program_find(program, "double", &function), KVC_STATUS_OK);
  EXPECT_EQ(function, 0u);

  kvc_stream_t *stream = nullptr;
  ASSERT_EQ(kvc_stream_create_cpu(1, &stream), KVC_STATUS_OK);
  float in[4] = {1, 2, 3, -4}, out[4] = {};
  kvc_tensor_t x = {in, {4}, {1}, 1, KVC_DTYPE_F32}, y = {out, {4}, {1}, 1, KVC_DTYPE_F32};
  const void *args[] = {&x, &y};
  EXPECT_EQ(kvc_program_run(program, 0, stream, args, 2), KVC_STATUS_OK) << kvc_last_message();
  EXPECT_THAT(out, testing::ElementsAre(2, 4, 6, -8));

  // The program itself asks for the check.
  x.shape[0] = 5;
  EXPECT_EQ(kvc_program_run(program, 0, stream, args, 2), KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(kvc_last_message(), HasSubstr("expected dimension 0 to be 4, got 5"));
  kvc_stream_release(stream);
}

TEST_F(ProgramTest, RefusesAnotherVersion) {
  auto code = build(kDouble);
  ASSERT_TRUE(code) << messages;
  EXPECT_EQ(code->getQuery()(KVC_ABI_VERSION + 1), nullptr);
  EXPECT_EQ(code->getQuery()(0), nullptr);
}

// Two programs of different names side by side, both with functions called `run`.
TEST_F(ProgramTest, KeepsProgramsApart) {
  auto first = build(kDouble, "first");
  auto second = build(kDouble, "second");
  ASSERT_TRUE(first && second) << messages;
  EXPECT_NE(first->getQuery()(KVC_ABI_VERSION), second->getQuery()(KVC_ABI_VERSION));
}

TEST_F(ProgramTest, DescribesArguments) {
  auto code = build(makeCaller("", "llvm.fadd %two, %two : f32"));
  ASSERT_TRUE(code) << messages;
  const kvc_program_t *program = nullptr;
  ASSERT_EQ(kvc_program_load(code->getQuery(), &program), KVC_STATUS_OK) << kvc_last_message();
  const kvc_blob_t *blob = program->blob;
  auto at = [&](kvc_offset_t offset) { return reinterpret_cast<const char *>(blob) + offset; };
  EXPECT_EQ(reinterpret_cast<uintptr_t>(blob) % 8, 0u);
  EXPECT_STREQ(at(blob->target), "test");
  EXPECT_EQ(blob->num_images, 0u);
  ASSERT_EQ(blob->num_functions, 1u);
  const kvc_function_desc_t *function = kvc_program_function(program, 0);
  EXPECT_STREQ(at(function->name), "f");
  EXPECT_EQ(function->num_inputs, 4u);
  ASSERT_EQ(function->num_args, 5u);
  auto *args = reinterpret_cast<const kvc_arg_desc_t *>(at(function->args));

  EXPECT_EQ(args[0].kind, uint32_t{KVC_ARG_TENSOR});
  EXPECT_EQ(args[0].dtype, KVC_DTYPE_F16);
  EXPECT_EQ(args[0].shape[0], 4);
  EXPECT_EQ(args[0].shape[1], KVC_DYNAMIC);
  EXPECT_EQ(args[0].strides[0], KVC_DYNAMIC);
  EXPECT_EQ(args[0].strides[1], 1);
  EXPECT_EQ(args[0].rows_are_tokens, 0u);
  for (int i : {1, 4}) {
    EXPECT_EQ(args[i].kind, uint32_t{KVC_ARG_TENSOR});
    EXPECT_EQ(args[i].is_result, uint32_t{i == 4});
    EXPECT_EQ(args[i].rank, 2);
    EXPECT_EQ(args[i].dtype, KVC_DTYPE_F32);
    EXPECT_EQ(args[i].shape[0], KVC_DYNAMIC);
    EXPECT_EQ(args[i].shape[1], 2);
    EXPECT_EQ(args[i].strides[0], KVC_DYNAMIC);
    EXPECT_EQ(args[i].strides[1], 1);
    EXPECT_EQ(args[i].rows_are_tokens, 1u);
  }
  EXPECT_EQ(args[2].kind, uint32_t{KVC_ARG_BATCH});
  EXPECT_EQ(args[3].kind, uint32_t{KVC_ARG_CACHE});
  ASSERT_EQ(blob->num_cache_types, 1u);
  ASSERT_EQ(args[3].cache_type, 0u);
  auto *type = reinterpret_cast<const kvc_cache_type_t *>(at(blob->cache_types));
  EXPECT_EQ(type->page_size, 16);
  ASSERT_EQ(type->num_components, 2);
  EXPECT_STREQ(type->components[1].name, "v");
  EXPECT_EQ(type->components[1].heads, 4);
  EXPECT_EQ(type->components[1].width, 64);
  EXPECT_EQ(type->components[1].dtype, KVC_DTYPE_F32);
}

// libm can be called, the rest of the process cannot.
TEST_F(ProgramTest, TakesOnlyComputationFromTheProcess) {
  auto code = build(makeCaller("llvm.func @exp2f(f32) -> f32",
                               "llvm.call @exp2f(%two) : (f32) -> f32"));
  ASSERT_TRUE(code) << messages;
  const kvc_program_t *program = code->getQuery()(KVC_ABI_VERSION);
  EXPECT_EQ(program->entries[0].run(nullptr, nullptr, nullptr), 4);

  EXPECT_FALSE(build(makeCaller("llvm.func @system(f32) -> f32",
                                "llvm.call @system(%two) : (f32) -> f32")));
  EXPECT_THAT(messages, HasSubstr("cannot link the program"));
  EXPECT_THAT(messages, HasSubstr("system"));
}

TEST_F(ProgramTest, ReportsUnfinishedLowering) {
  EXPECT_FALSE(build(makeCaller(
      "", "builtin.unrealized_conversion_cast %two : f32 to f32\n"
          "%j = builtin.unrealized_conversion_cast %two : f32 to index")));
  EXPECT_THAT(messages, HasSubstr("unrealized_conversion_cast"));
}
