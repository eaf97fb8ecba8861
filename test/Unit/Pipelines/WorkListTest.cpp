//===- WorkListTest.cpp - work lists and their bounds ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list of the CPU runs here, that of the device in the emulator, which reports
// races. Both are compared with a model, for random batches. The arrays are as long as
// the bounds say, so that whatever goes beyond is found.
//===----------------------------------------------------------------------===//
#include "WorkListModel.h"

#include "kvc/Conversion/WorkListKernel.h"
#include "kvc/Emulator/Emulator.h"
#include "kvc/Pipelines/Compile.h"
#include "kvc/Pipelines/Pipelines.h"
#include "kvc/Target/LLVM/Emit.h"
#include "kvc/Target/LLVM/JIT.h"
#include "kvc/Target/PTX/PTX.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace kvc;

static constexpr ListSetup kSetups[] = {
    {"decode", 1, 64, true, 0, false},
    {"decode_window", 1, 16, true, 40, false},
    {"decode_deterministic", 1, 64, true, 0, true},
    {"decode_clusters", 1, 64, true, 0, false, true},
    {"decode_window_clusters", 1, 16, true, 40, false, true},
    {"prefill", 16, 64, true, 0, false},
    {"prefill_window", 4, 16, true, 40, false},
    {"prefill_dense", 8, 32, false, 0, false},
    {"prefill_deterministic", 16, 32, true, 100, true},
};

namespace {
class WorkListTest : public testing::TestWithParam<ListSetup> {
protected:
  WorkListTest() : context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(getText(), &context);
    module->walk([&](AttentionOp op) { attention = op; });
  }

  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    return registry;
  }

  /// A function with the attention.
  std::string getText() const {
    std::string score = GetParam().causal ? "#kvc.causal" : "";
    if (GetParam().window)
      score += ", #kvc.window<" + std::to_string(GetParam().window) + ">";
    return "!cache = !kvc.cache<page = 16, k: 1x64xbf16, v: 1x64xbf16>\n"
           "func.func @f(%q: tensor<?x1x64xbf16>, %cache: !cache, %batch: !kvc.batch)\n"
           "    -> tensor<?x1x64xbf16> {\n"
           "  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [" + score +
           "] {scale = 1.0 : f32} : !cache, tensor<?x1x64xbf16> -> tensor<?x1x64xbf16>\n"
           "  return %o : tensor<?x1x64xbf16>\n}\n";
  }

  WorkListConfig getConfig() {
    return {GetParam().queryTokens, GetParam().split, attention.getModifiers()};
  }

  /// Compiles a function of the CPU, whose body `emit` makes of its arguments.
  template <typename Function>
  Function *compileHost(llvm::ArrayRef<mlir::Type> types,
                        llvm::function_ref<void(mlir::OpBuilder &, mlir::ValueRange)> emit) {
    mlir::OpBuilder b(&context);
    mlir::Location loc = b.getUnknownLoc();
    mlir::OwningOpRef<mlir::ModuleOp> host = mlir::ModuleOp::create(loc);
    b.setInsertionPointToEnd(host->getBody());
    auto type = mlir::LLVM::LLVMFunctionType::get(
        mlir::LLVM::LLVMVoidType::get(&context), types);
    auto function = mlir::LLVM::LLVMFuncOp::create(b, loc, "host", type);
    b.setInsertionPointToStart(function.addEntryBlock(b));
    emit(b, function.getArguments());
    mlir::LLVM::ReturnOp::create(b, loc, mlir::ValueRange{});
    mlir::PassManager pm(&context);
    pm.addPass(mlir::createSCFToControlFlowPass());
    pm.addPass(mlir::createArithToLLVMConversionPass());
    pm.addPass(mlir::createConvertControlFlowToLLVMPass());
    EXPECT_TRUE(mlir::succeeded(pm.run(*host)));

    auto emitError = [&] { return mlir::emitError(loc); };
    auto target = resolveCPUTarget("plain", "", "", emitError);
    auto object = emitObject(*host, *target);
    auto linked = JITProgram::create(*object, *target, "host", emitError);
    EXPECT_TRUE(mlir::succeeded(linked));
    programs.push_back(std::move(*linked));
    return reinterpret_cast<Function *>(programs.back()->getQuery());
  }

  mlir::Type i32() { return mlir::IntegerType::get(&context, 32); }
  mlir::Type i64() { return mlir::IntegerType::get(&context, 64); }
  mlir::Type ptr() { return mlir::LLVM::LLVMPointerType::get(&context); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  AttentionOp attention;
  std::vector<std::unique_ptr<JITProgram>> programs;
};

/// Bounds of the counts.
struct Bounds {
  int64_t items, parts, merges;
};
using BoundsFn = void(int32_t sequences, int32_t tokens, int32_t kvLen, int64_t target, Bounds *);
} // namespace

/// Emits code that stores the bounds, with a target if there is one.
static void emitBounds(mlir::OpBuilder &b, mlir::ValueRange args, const WorkListConfig &config,
                       bool hasTarget) {
  mlir::Location loc = b.getUnknownLoc();
  WorkListBounds bounds = emitWorkListBounds(b, loc, args[0], args[1], args[2], config,
                                             hasTarget ? args[3] : mlir::Value());
  int32_t offset = 0;
  for (mlir::Value value : {bounds.items, bounds.parts, bounds.merges}) {
    mlir::Value at = mlir::LLVM::GEPOp::create(b, loc, args[4].getType(), b.getI8Type(), args[4],
                                               llvm::ArrayRef<mlir::LLVM::GEPArg>{offset});
    mlir::LLVM::StoreOp::create(b, loc, value, at);
    offset += sizeof(int64_t);
  }
}

/// Compares what was built with the model's.
static void expectList(const ModelList &model, const WorkItem *items, const MergeEntry *merges,
                       const WorkCounts &counts) {
  ASSERT_EQ(counts.items, static_cast<int32_t>(model.items.size()));
  ASSERT_EQ(counts.merges, static_cast<int32_t>(model.merges.size()));
  ASSERT_EQ(counts.parts, model.parts);
  ASSERT_EQ(counts.cluster, model.cluster);
  for (size_t i = 0; i < model.items.size(); ++i) {
    const WorkItem &want = model.items[i], &got = items[i];
    ASSERT_EQ(std::memcmp(&want, &got, sizeof(WorkItem)), 0)
        << "item " << i << ": expected queries from " << want.queryBegin << ", keys "
        << want.kvBegin << " to " << want.kvEnd << ", part " << want.part << ", ranks from "
        << int(want.firstRank) << ", " << int(want.numRanks) << " of them, got queries from "
        << got.queryBegin << ", keys " << got.kvBegin << " to " << got.kvEnd << ", part "
        << got.part << ", ranks from " << int(got.firstRank) << ", " << int(got.numRanks)
        << " of them";
  }
  if (!model.merges.empty()) {
    ASSERT_EQ(std::memcmp(model.merges.data(), merges,
                          model.merges.size() * sizeof(MergeEntry)), 0);
  }
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

TEST_P(WorkListTest, BoundsHold) {
  auto *getBounds = compileHost<BoundsFn>(
      {i32(), i32(), i32(), i64(), ptr()}, [&](mlir::OpBuilder &b, mlir::ValueRange args) {
        emitBounds(b, args, getConfig(), !GetParam().deterministic);
      });
  std::mt19937 random(1);
  int32_t cut = 0, joined = 0;
  for (int i = 0; i < 3000; ++i) {
    ListBatch batch = drawBatch(GetParam(), 60, random);
    ModelList model = buildModelList(GetParam(), batch);
    Bounds bounds = {};
    getBounds(batch.getNumSequences(), batch.getNumTokens(), batch.maxKvLen, batch.target,
              &bounds);
    ASSERT_LE(static_cast<int64_t>(model.items.size()), bounds.items) << "batch " << i;
    ASSERT_LE(model.parts, bounds.parts) << "batch " << i;
    ASSERT_LE(static_cast<int64_t>(model.merges.size()), bounds.merges) << "batch " << i;
    if (!GetParam().deterministic) {
      ASSERT_LE(bounds.parts, 3 * int64_t(batch.target));
    }
    cut += model.parts > 0;
    joined += getSplitsOfChunk(GetParam(), batch) > 1;
    // Those of a larger batch are no smaller.
    Bounds larger = {};
    getBounds(batch.getNumSequences() + 3, batch.getNumTokens() + 70, batch.maxKvLen + 100,
              batch.target, &larger);
    ASSERT_LE(bounds.items, larger.items);
    ASSERT_LE(bounds.parts, larger.parts);
    ASSERT_LE(bounds.merges, larger.merges);
  }
  // The batches are worth their while.
  EXPECT_GT(cut, 300);
  EXPECT_EQ(joined > 300, !GetParam().deterministic);
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

TEST_P(WorkListTest, CPUBuildsTheList) {
  ListSetup setup = GetParam();
  setup.deterministic = true;
  using BuildFn = void(int32_t sequences, int32_t maxKvLen, const int32_t *queryStart,
                       const int32_t *kvLens, const int32_t *pageStart, int64_t pageStride,
                       WorkItem *items, MergeEntry *merges, WorkCounts *counts);
  auto *build = compileHost<BuildFn>(
      {i32(), i32(), ptr(), ptr(), ptr(), i64(), ptr(), ptr(), ptr()},
      [&](mlir::OpBuilder &b, mlir::ValueRange args) {
        WorkListArgs listArgs{args[0], args[1], args[2], args[3], args[4],
                              args[5], args[6], args[7], args[8]};
        emitBuildWorkList(b, b.getUnknownLoc(), listArgs, getConfig());
      });
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    ListBatch batch = drawBatch(setup, 60, random);
    ModelList model = buildModelList(setup, batch);
    std::vector<WorkItem> items(model.items.size());
    std::vector<MergeEntry> merges(model.merges.size());
    WorkCounts counts = {};
    build(batch.getNumSequences(), batch.maxKvLen, batch.queryStart.data(), batch.kvLens.data(),
          batch.pageStart.empty() ? nullptr : batch.pageStart.data(), batch.pageStride,
          items.data(), merges.data(), &counts);
    expectList(model, items.data(), merges.data(), counts);
    if (HasFatalFailure())
      FAIL() << "batch " << i;
  }
}

namespace {
/// Memory of the emulated device that one launch uses.
class DeviceArrays {
public:
  explicit DeviceArrays(emu::Memory &memory) : memory(memory) {}
  ~DeviceArrays() {
    for (uint64_t address : addresses)
      memory.free(address);
  }
  uint64_t allocate(uint64_t bytes) {
    addresses.push_back(memory.allocate(std::max<uint64_t>(bytes, 1)));
    return addresses.back();
  }
  uint64_t copy(const std::vector<int32_t> &values) {
    uint64_t address = allocate(values.size() * sizeof(int32_t));
    if (!values.empty())
      std::memcpy(emu::Memory::getBytes(address), values.data(),
                  values.size() * sizeof(int32_t));
    memory.markWritten(address, values.size() * sizeof(int32_t));
    return address;
  }

private:
  emu::Memory &memory;
  std::vector<uint64_t> addresses;
};
} // namespace

namespace {
/// Builds lists with the kernel, in the emulator.
class DeviceListTest : public WorkListTest {
protected:
  void SetUp() override;
  /// Compares the list of a batch with the model's.
  void run(const ListBatch &batch, uint64_t seed);

  static emu::Memory &getMemory() {
    static emu::Memory memory;
    return memory;
  }

  BoundsFn *getBounds = nullptr;
  std::unique_ptr<emu::Module> loaded;
};
} // namespace

void DeviceListTest::SetUp() {
  getBounds = compileHost<BoundsFn>(
      {i32(), i32(), i32(), i64(), ptr()}, [&](mlir::OpBuilder &b, mlir::ValueRange args) {
        emitBounds(b, args, getConfig(), !GetParam().deterministic);
      });
  KernelDescription description;
  description.function = "f";
  description.split = GetParam().split;
  description.queryTokens = GetParam().queryTokens;
  description.deterministic = GetParam().deterministic;
  description.cluster = GetParam().clusters ? 8 : 1;
  mlir::OpBuilder b(&context);
  b.setInsertionPointToEnd(module->getBody());
  auto kernels = mlir::gpu::GPUModuleOp::create(b, b.getUnknownLoc(), kKernelModuleName);
  (*module)->setAttr("gpu.container_module", b.getUnitAttr());
  b.setInsertionPointToStart(kernels.getBody());
  emitWorkListKernel(b, attention, "list", description);
  attention->getParentOp()->erase();
  mlir::PassManager pm(&context);
  buildKVCToPTXPipeline(pm, PTXPipelineOptions());
  ASSERT_TRUE(mlir::succeeded(pm.run(*module)));
  auto ptx = getPTX(*module);
  ASSERT_TRUE(mlir::succeeded(ptx));
  std::string log;
  loaded = emu::Module::load(*ptx, getMemory(), log);
  ASSERT_TRUE(loaded) << log;
}

void DeviceListTest::run(const ListBatch &batch, uint64_t seed) {
  const emu::Kernel &kernel = *loaded->findKernel("list");
  ModelList model = buildModelList(GetParam(), batch);
  setClusters(model, batch.cluster);
  Bounds bounds = {};
  getBounds(batch.getNumSequences(), batch.getNumTokens(), batch.maxKvLen, batch.target,
            &bounds);
  DeviceArrays arrays(getMemory());
  uint64_t items = arrays.allocate(bounds.items * sizeof(WorkItem)),
           merges = arrays.allocate(bounds.merges * sizeof(MergeEntry)),
           counts = arrays.allocate(sizeof(WorkCounts));
  const uint64_t values[] = {static_cast<uint64_t>(batch.getNumSequences()),
                             static_cast<uint64_t>(batch.maxKvLen),
                             arrays.copy(batch.queryStart),
                             arrays.copy(batch.kvLens),
                             batch.pageStart.empty() ? 0 : arrays.copy(batch.pageStart),
                             static_cast<uint64_t>(batch.pageStride),
                             items,
                             merges,
                             counts,
                             static_cast<uint64_t>(batch.target),
                             static_cast<uint64_t>(batch.cluster)};
  emu::LaunchConfig config;
  config.block = {256, 1, 1};
  config.parameters.resize(kernel.parameterBytes);
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    std::memcpy(&config.parameters[kernel.parameters[i].offset], &values[i],
                kernel.parameters[i].size);
  emu::LaunchOptions options;
  options.seed = seed;
  emu::LaunchResult result = emu::launch(getMemory(), kernel, config, options);
  ASSERT_TRUE(result.finished) << result.error;
  ASSERT_EQ(result.numReports, 0u) << result.reports[0].print();
  expectList(model, reinterpret_cast<WorkItem *>(emu::Memory::getBytes(items)),
             reinterpret_cast<MergeEntry *>(emu::Memory::getBytes(merges)),
             *reinterpret_cast<WorkCounts *>(emu::Memory::getBytes(counts)));
}

TEST_P(DeviceListTest, BuildsTheList) {
  std::mt19937 random(3);
  for (uint64_t i = 0; i < 60; ++i) {
    run(drawBatch(GetParam(), i % 4 == 0 ? 700 : 60, random), i);
    if (HasFatalFailure())
      FAIL() << "batch " << i;
  }
}

static constexpr ListSetup kLongSetups[] = {
    {"decode", 1, 1 << 20, true, 0, false},
    {"prefill", 16, 3 << 20, true, 0, false},
    {"window", 2, 1 << 16, true, 1 << 28, false},
    {"deterministic", 1, 1 << 24, true, 0, true},
};

namespace {
class LongListTest : public DeviceListTest {};
} // namespace

// Nothing overflows near the largest length: chunks of all keys, of half of them, of few.
TEST_P(LongListTest, TakesTheLongestSequences) {
  ListBatch batch;
  batch.queryStart = {0, 1, 1 + 2 * GetParam().queryTokens};
  batch.kvLens = {INT32_MAX, INT32_MAX - 1};
  batch.maxKvLen = INT32_MAX;
  batch.pageStride = int64_t(1) << 40;
  for (int32_t target : {1, 2, 3, 7, 100, INT32_MAX}) {
    batch.target = target;
    run(batch, 0);
    if (HasFatalFailure())
      FAIL() << "target " << target;
  }
}

static std::string getName(const testing::TestParamInfo<ListSetup> &info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Setups, WorkListTest, testing::ValuesIn(kSetups), getName);
INSTANTIATE_TEST_SUITE_P(Setups, DeviceListTest, testing::ValuesIn(kSetups), getName);
INSTANTIATE_TEST_SUITE_P(Long, LongListTest, testing::ValuesIn(kLongSetups), getName);
