//===- LaunchesTest.cpp - launches by what kernels say of themselves ------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host code for kernels without bodies, which no conversion makes: a rope that is part
// of an append, several attentions, kernels for both phases. The numbers are computed
// by hand.
//===----------------------------------------------------------------------===//
#include "LaunchRecorder.h"

#include "kvc/Conversion/HostABI.h"
#include "kvc/Conversion/Passes.h"
#include "kvc/Target/LLVM/Emit.h"
#include "kvc/Target/LLVM/JIT.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gmock/gmock.h>

using kvc::device;
using kvc::devicePtr;
using kvc::makeBatch;
using kvc::makeCache;
using testing::ElementsAre;
using testing::HasSubstr;

/// Attention over two caches, merged. Operations are 0: rope of the keys, 1: append,
/// 2: rope of the queries, 3 and 4: attention, 5: merge.
static const char kTypes[] = R"mlir(
!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
!q = tensor<?x8x64xbf16>
!kv = tensor<?x2x64xbf16>
!lse = tensor<?x8xf32>
)mlir";
static const char kFunction[] = R"mlir(
func.func @model(%q: !q, %k: !kv, %v: !kv, %cache: !cache, %prefix: !cache, %batch: !kvc.batch,
                 %sinks: tensor<8xf32>) -> !q {
  %k1 = kvc.rope %k at %batch {theta = 1.0e4 : f64, rotary_width = 64 : i64} : !kv
  kvc.append %cache[k: %k1, v: %v] at %batch : !cache, !kv, !kv
  %q1 = kvc.rope %q at %batch {theta = 1.0e4 : f64, rotary_width = 64 : i64} : !q
  %o0, %l0 = kvc.attention %cache at %batch terms(%q1 * k) value(v) sinks(%sinks : tensor<8xf32>)
      {scale = 1.0 : f32} : !cache, !q -> !q, !lse
  %o1, %l1 = kvc.attention %prefix at %batch terms(%q1 * k) value(v)
      {scale = 1.0 : f32} : !cache, !q -> !q, !lse
  %o, %l = kvc.merge outputs(%o0, %o1 : !q, !q) lses(%l0, %l1 : !lse, !lse) : !q, !lse
  return %o : !q
}
)mlir";

namespace {
/// A kernel without a body.
struct KernelText {
  std::string name, kind, op, types, parameters, others;

  std::string print() const {
    bool isAttention = kind == "attention", isList = kind == "worklist";
    return "llvm.func @" + name + "(" + types + ") attributes {nvvm.kernel, " +
           "kvc.function = \"model\", kvc.kind = \"" + kind + "\", kvc.op = " + op +
           " : i32, kvc.grid = array<i32: " + (isList ? "1, 1, 1" : "2, 0, 1") +
           ">, kvc.threads = 128 : i32, kvc.shared_bytes = 0 : i32, kvc.parameters = [" +
           parameters + "]" +
           (isAttention ? ", kvc.split = 1024 : i32, kvc.query_heads = 8 : i32, "
                          "kvc.width = 64 : i32"
                        : "") +
           (others.empty() ? "" : ", " + others) + "}\n";
  }
};
} // namespace

/// Kernels of one phase of the attention `op`.
static std::string attentionKernels(const std::string &op, const std::string &phase,
                                    int queryTokens, bool hasClusters) {
  std::string name = "a" + op + "_" + phase, inPhase = "kvc.phase = \"" + phase + "\"";
  std::string types = "i32, i32, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr";
  std::string parameters = R"("batch num_sequences", "batch max_kv_len", "list target",
                              "list items", "list merges", "list counts")";
  KernelText list{name + "_list", "worklist", op, types + (hasClusters ? ", i32" : ""),
                  parameters + (hasClusters ? ", \"list cluster\"" : ""), inPhase};
  KernelText attention{name, "attention", op,
                       "!llvm.ptr, i64, i64, !llvm.ptr, i64, i64, i64, !llvm.ptr, !llvm.ptr, "
                       "!llvm.ptr, !llvm.ptr, i64, i64",
                       R"("operand 2", "component v", "list items", "parts output",
                          "parts stats", "result 0")",
                       inPhase + ", kvc.query_tokens = " + std::to_string(queryTokens) +
                           " : i32, kvc.alignments = array<i32: 16, 32, 0, 0, 0, 0>" +
                           (hasClusters ? ", kvc.cluster = 8 : i32" : "")};
  KernelText combine{name + "_combine", "combine", op, "!llvm.ptr, !llvm.ptr, i64, i64",
                     R"("list merges", "result 1")", inPhase};
  return list.print() + attention.print() + combine.print();
}

/// The kernels of @model: those for prefill, and clusters in decode, on request.
static std::string makeKernels(bool hasPrefill, bool hasClusters = false) {
  KernelText append{"append", "append", "1",
                    "!llvm.ptr, i64, i64, !llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr, i64, i64, "
                    "i64, !llvm.ptr, i32",
                    R"("op 0 operand 0", "op 0 batch positions", "operand 3", "component k",
                       "batch slots", "batch num_tokens")",
                    "kvc.alignments = array<i32: 8, 0, 2, 0, 0, 0>"};
  KernelText rope{"rope", "rope", "2", "!llvm.ptr, i64, i64, !llvm.ptr, i64, i64",
                  R"("operand 0", "result 0")", ""};
  KernelText merge{"merge", "merge", "5",
                   "!llvm.ptr, i64, i64, !llvm.ptr, i64, i64, !llvm.ptr, i64, i64, !llvm.ptr, i64, "
                   "i64",
                   R"("operand 1", "operand 2", "result 0", "result 1")", ""};
  // Kernels of an operation come in the order of the module; operations in their own.
  std::string text = merge.print() + append.print() + rope.print();
  for (const char *op : {"3", "4"}) {
    text += attentionKernels(op, "decode", 1, hasClusters);
    if (hasPrefill)
      text += attentionKernels(op, "prefill", 4, /*hasClusters=*/false);
  }
  return std::string(kTypes) + "module attributes {gpu.container_module} {\n" +
         "gpu.module @kvc_kernels {\n" + text + "}\n" + kFunction + "}\n";
}

namespace {
class LaunchesTest : public kvc::LaunchRecorder {
protected:
  /// Makes host code, with declarations in place of PTX.
  void compile(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << diagnostics;
    mlir::PassManager pm(&context);
    pm.addPass(kvc::createConvertKVCToLaunchesPass());
    ASSERT_TRUE(mlir::succeeded(pm.run(*module))) << diagnostics;
    std::string ptx = replaceKernels(*module);
    kvc::setProgramImage(*module, {"sm_90a", ptx});
    mlir::PassManager host(&context);
    host.addPass(mlir::createArithToLLVMConversionPass());
    host.addPass(kvc::createBuildProgramPass());
    ASSERT_TRUE(mlir::succeeded(host.run(*module))) << diagnostics;

    auto emitError = [&] { return module->emitError(); };
    auto target = kvc::resolveCPUTarget("plain", "", "", emitError);
    ASSERT_TRUE(mlir::succeeded(target));
    auto object = kvc::emitObject(*module, *target);
    ASSERT_TRUE(mlir::succeeded(object)) << diagnostics;
    auto linked = kvc::JITProgram::create(*object, *target, "kvc_program_query", emitError);
    ASSERT_TRUE(mlir::succeeded(linked)) << diagnostics;
    jit = std::move(*linked);
    program = jit->getQuery()(KVC_ABI_VERSION);
  }

  /// Removes the gpu.module; returns declarations of its kernels.
  static std::string replaceKernels(mlir::ModuleOp module) {
    std::string text;
    auto kernels = module.lookupSymbol<mlir::gpu::GPUModuleOp>("kvc_kernels");
    for (auto kernel : kernels.getOps<mlir::LLVM::LLVMFuncOp>()) {
      text += ".entry " + kernel.getName().str() + "(";
      for (mlir::Type type : kernel.getFunctionType().getParams())
        text += type.isInteger(32) ? ".param .u32 p," : ".param .u64 p,";
      text += ")\n";
    }
    kernels.erase();
    module->removeAttr("gpu.container_module");
    return text;
  }

  /// Runs @model over a batch of three sequences.
  kvc_status_t runModel(int32_t tokens, int32_t maxQueryLen, uint64_t workspaceSize) {
    kvc_tensor_t q = kvc::makeTensor(1, tokens, 8, 64), k = kvc::makeTensor(2, tokens, 2, 64),
                 v = kvc::makeTensor(3, tokens, 2, 64), out = kvc::makeTensor(4, tokens, 8, 64);
    kvc_tensor_t sinks = {devicePtr(5), {8}, {1}, 1, KVC_DTYPE_F32};
    kvc_cache_view_t cache = makeCache(), prefix = makeCache();
    prefix.components[1].data = devicePtr(12);
    kvc_batch_t batch = makeBatch(3, 2500);
    batch.num_tokens = tokens;
    batch.max_query_len = maxQueryLen;
    return run({&q, &k, &v, &cache, &prefix, &batch, &sinks, &out}, workspaceSize);
  }

  std::vector<std::string> getLaunched() const {
    std::vector<std::string> names;
    for (const kvc::Launch &launch : launches)
      names.push_back(launch.kernel);
    return names;
  }

  std::unique_ptr<kvc::JITProgram> jit;
};
} // namespace

TEST_F(LaunchesTest, LaunchesOperationsInOrder) {
  compile(makeKernels(/*hasPrefill=*/false));
  EXPECT_EQ(runModel(3, 1, 1 << 20), KVC_STATUS_OK) << testing::PrintToString(messages);
  EXPECT_THAT(getLaunched(),
              ElementsAre("append", "rope",                                //
                          "a3_decode_list", "a3_decode", "a3_decode_combine", //
                          "a4_decode_list", "a4_decode", "a4_decode_combine", "merge"));
}

// The rope of the keys has no kernel and no rows: the append reads what it would.
TEST_F(LaunchesTest, PassesWhatKernelsName) {
  compile(makeKernels(/*hasPrefill=*/false));
  EXPECT_EQ(runModel(3, 1, 1 << 20), KVC_STATUS_OK) << testing::PrintToString(messages);
  const uint64_t base = device(1000);
  EXPECT_THAT(launches[0].params,
              ElementsAre(device(2), 2 * 64 + 64, 64, device(105),     //
                          device(3), 2 * 64 + 64, 64,                  //
                          device(10), 40000, 2048, 128, device(104), 3));
  EXPECT_THAT(launches[0].grid, ElementsAre(2, 3, 1));

  // Rows of three tokens: the queries, then outputs and log-sum-exps of each part.
  constexpr uint64_t rows = 3 * 8 * 64 * 2, lses = 128;
  constexpr uint64_t out0 = rows, lse0 = out0 + rows, out1 = lse0 + lses, lse1 = out1 + rows;
  constexpr uint64_t merged = lse1 + lses, begin = merged + lses;
  EXPECT_THAT(launches[1].params, ElementsAre(device(1), 8 * 64 + 64, 64, base, 8 * 64, 64));

  // Nine items, three merges, nine parts, where the other attention has them too.
  constexpr uint64_t items = begin + 64, merges = items + 320, parts = merges + 64;
  constexpr uint64_t stats = parts + 9 * 8 * 64 * 4, end = stats + 9 * 8 * 2 * 4;
  // 16 blocks at once on each of 132 multiprocessors, over two heads.
  constexpr uint64_t target = 132 * 16 / 2;
  for (int op : {0, 1}) {
    EXPECT_THAT(launches[2 + 3 * op].params,
                ElementsAre(3, 2500, target, base + items, base + merges, base + begin));
    EXPECT_THAT(launches[2 + 3 * op].grid, ElementsAre(1, 1, 1));
    EXPECT_THAT(launches[3 + 3 * op].params,
                ElementsAre(base, 8 * 64, 64, device(11 + op), 50000, 2049, 129, base + items,
                            base + parts, base + stats, base + (op ? out1 : out0), 8 * 64, 64));
    EXPECT_THAT(launches[3 + 3 * op].grid, ElementsAre(2, 9, 1));
    EXPECT_THAT(launches[4 + 3 * op].params,
                ElementsAre(base + merges, base + (op ? lse1 : lse0), 8, 1));
    EXPECT_THAT(launches[4 + 3 * op].grid, ElementsAre(2, 3, 1));
  }
  EXPECT_THAT(launches[8].params,
              ElementsAre(base + out1, 8 * 64, 64, base + lse0, 8, 1, //
                          device(4), 8 * 64 + 64, 64, base + merged, 8, 1));
  EXPECT_THAT(launches[8].grid, ElementsAre(2, 3, 1));
  EXPECT_EQ(getNeeds(3, 3, 2500), end);
  EXPECT_EQ(runModel(3, 1, end), KVC_STATUS_OK);
  EXPECT_EQ(runModel(3, 1, end - 1), KVC_STATUS_INVALID_ARGUMENT);
}

// The batch's bound of the query length chooses; the workspace is enough for both.
TEST_F(LaunchesTest, ChoosesThePhase) {
  compile(makeKernels(/*hasPrefill=*/true));
  // Five tokens: rows as above, then a list and parts of four query tokens each.
  constexpr uint64_t begin = 3 * 5 * 1024 + 3 * 192;
  constexpr uint64_t parts = begin + 64 + 320 + 64, stats = parts + 9 * 4 * 8 * 64 * 4;
  constexpr uint64_t end = stats + 9 * 4 * 8 * 2 * 4;
  EXPECT_EQ(getNeeds(3, 5, 2500), end);
  EXPECT_EQ(runModel(5, 2, end), KVC_STATUS_OK) << testing::PrintToString(messages);
  EXPECT_THAT(getLaunched(), ElementsAre("append", "rope", "a3_prefill_list", "a3_prefill",
                                         "a3_prefill_combine", "a4_prefill_list", "a4_prefill",
                                         "a4_prefill_combine", "merge"));
  EXPECT_EQ(launches[3].params[8], device(1000) + parts);
  EXPECT_EQ(launches[3].params[9], device(1000) + stats);

  for (int32_t maxQueryLen : {0, 1}) {
    launches.clear();
    EXPECT_EQ(runModel(3, maxQueryLen, end), KVC_STATUS_OK);
    EXPECT_THAT(getLaunched(), testing::Contains("a3_decode"));
    EXPECT_THAT(getLaunched(), testing::Not(testing::Contains("a3_prefill")));
  }
}

// As many blocks as leave each sequence a cluster; the grid is whole clusters.
TEST_F(LaunchesTest, LaunchesClusters) {
  compile(makeKernels(/*hasPrefill=*/true, /*hasClusters=*/true));
  workers = 1; // 16 blocks at once, over two heads: items are cut for 8 of them
  const struct {
    int32_t tokens;
    uint32_t cluster, blocks; // of up to three items a sequence
  } cases[] = {{1, 8, 8}, {2, 4, 8}, {3, 2, 10}, {4, 2, 12}, {5, 1, 15}};
  for (const auto &row : cases) {
    launches.clear();
    EXPECT_EQ(runModel(row.tokens, 1, 1 << 20), KVC_STATUS_OK)
        << testing::PrintToString(messages);
    ASSERT_EQ(launches.size(), 9u);
    for (const kvc::Launch &launch : launches) {
      bool isAttention = launch.kernel == "a3_decode" || launch.kernel == "a4_decode";
      EXPECT_EQ(launch.cluster, isAttention ? row.cluster : 1) << launch.kernel;
    }
    EXPECT_EQ(launches[2].params.back(), row.cluster);
    EXPECT_EQ(launches[3].grid[1], row.blocks) << row.tokens;
  }
  // No device allows more than 65535 blocks along y, which no number of clusters makes up.
  launches.clear();
  workers = 1000000;
  EXPECT_EQ(runModel(70000, 1, int64_t(1) << 40), KVC_STATUS_OK)
      << testing::PrintToString(messages);
  ASSERT_EQ(launches.size(), 9u);
  EXPECT_EQ(launches[3].cluster, 8u);
  EXPECT_EQ(launches[3].grid[1], 65528u);
  launches.clear();
  EXPECT_EQ(runModel(1, 2, 1 << 20), KVC_STATUS_OK);
  for (const kvc::Launch &launch : launches)
    EXPECT_EQ(launch.cluster, 1u) << launch.kernel;
}

TEST_F(LaunchesTest, DescribesTheFunction) {
  for (bool hasPrefill : {false, true}) {
    compile(makeKernels(hasPrefill));
    auto *function = getAt<kvc_function_desc_t>(program->blob->functions);
    EXPECT_EQ(function->max_query_len, hasPrefill ? 0u : 1u);
    auto *args = getAt<kvc_arg_desc_t>(function->args);
    std::vector<uint32_t> alignments;
    for (uint32_t i = 0; i < function->num_args; ++i)
      alignments.push_back(args[i].alignment);
    // Keys and values to append, both caches; the queries' rows are in the workspace.
    EXPECT_THAT(alignments, ElementsAre(0, 8, 2, 32, 32, 0, 0, 0));
  }
}

// Each tensor of an operation has its rows, also those of a rope without a kernel.
TEST_F(LaunchesTest, ChecksRows) {
  compile(makeKernels(/*hasPrefill=*/false));
  kvc_tensor_t q = kvc::makeTensor(1, 3, 8, 64), k = kvc::makeTensor(2, 4, 2, 64),
               v = kvc::makeTensor(3, 3, 2, 64), out = kvc::makeTensor(4, 3, 8, 64);
  kvc_tensor_t sinks = {devicePtr(5), {8}, {1}, 1, KVC_DTYPE_F32};
  kvc_cache_view_t cache = makeCache();
  kvc_batch_t batch = makeBatch(3, 2500);
  std::vector<const void *> args = {&q, &k, &v, &cache, &cache, &batch, &sinks, &out};
  EXPECT_EQ(run(args, 1 << 20), KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(messages.back(), HasSubstr("expected the tensors of 'kvc.rope'"));
  k.shape[0] = 3;
  out.shape[0] = 2;
  EXPECT_EQ(run(args, 1 << 20), KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(messages.back(), HasSubstr("expected the tensors of 'kvc.merge'"));
  EXPECT_TRUE(launches.empty());
}
