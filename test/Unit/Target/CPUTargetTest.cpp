//===- CPUTargetTest.cpp - choice of the processor ------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Target/LLVM/CPUTarget.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kvc;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {
class CPUTargetTest : public testing::Test {
protected:
  CPUTargetTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.getDiagEngine().registerHandler(
        [this](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
  }

  mlir::FailureOr<CPUTarget> resolve(llvm::StringRef tier, llvm::StringRef cpu = "",
                                     llvm::StringRef features = "") {
    message.clear();
    return resolveCPUTarget(tier, cpu, features, [this] {
      return mlir::emitError(mlir::UnknownLoc::get(&context));
    });
  }

  bool runs(const CPUTarget &target) {
    message.clear();
    return succeeded(checkRunsOnHost(
        target, [this] { return mlir::emitError(mlir::UnknownLoc::get(&context)); }));
  }

  mlir::MLIRContext context;
  std::string message;
};
} // namespace

TEST_F(CPUTargetTest, HostRunsItsOwnCode) {
  auto target = resolve("");
  ASSERT_TRUE(succeeded(target)) << message;
  EXPECT_TRUE(runs(*target)) << message;
}

TEST_F(CPUTargetTest, TierBringsItsFeatures) {
  auto target = resolve("avx512_bf16");
  ASSERT_TRUE(succeeded(target)) << message;
  EXPECT_EQ(target->tier, CPUTier::AVX512BF16);
  EXPECT_EQ(target->cpu, "x86-64");
  EXPECT_THAT(target->features, HasSubstr("+avx512bf16"));
  auto amx = resolve("amx");
  ASSERT_TRUE(succeeded(amx)) << message;
  EXPECT_EQ(amx->tier, CPUTier::AMX);
  EXPECT_THAT(amx->features, HasSubstr("+amx-bf16"));
  auto plain = resolve("plain");
  ASSERT_TRUE(succeeded(plain)) << message;
  EXPECT_THAT(plain->features, IsEmpty());
  EXPECT_TRUE(runs(*plain)) << message;
}

TEST_F(CPUTargetTest, CPUTellsTheTier) {
  EXPECT_EQ(resolve("", "znver4")->tier, CPUTier::AVX512BF16);
  EXPECT_EQ(resolve("", "sapphirerapids")->tier, CPUTier::AMX);
  EXPECT_EQ(resolve("", "sapphirerapids", "-amx-bf16")->tier, CPUTier::AVX512);
  EXPECT_EQ(resolve("", "skylake-avx512")->tier, CPUTier::AVX512);
  EXPECT_EQ(resolve("", "znver3")->tier, CPUTier::AVX2);
  EXPECT_EQ(resolve("", "x86-64")->tier, CPUTier::Plain);
  EXPECT_EQ(resolve("", "znver4", "-avx512bf16")->tier, CPUTier::AVX512);
  EXPECT_EQ(resolve("", "x86-64", "+avx2,+fma,+f16c")->tier, CPUTier::AVX2);
}

TEST_F(CPUTargetTest, RefusesUnknownNames) {
  EXPECT_TRUE(failed(resolve("avx1024")));
  EXPECT_EQ(message, "expected tier to be amx, avx512_bf16, avx512, avx2 or plain, got 'avx1024'");
  EXPECT_TRUE(failed(resolve("", "z80")));
  EXPECT_EQ(message, "expected cpu to be a processor of x86_64 known to LLVM, got 'z80'");
  EXPECT_TRUE(failed(resolve("", "", "+teleport")));
  EXPECT_EQ(message, "expected a feature known to LLVM, got 'teleport'");
  EXPECT_TRUE(failed(resolve("", "", "avx2")));
  EXPECT_EQ(message, "expected features such as '+avx2,-fma', got 'avx2'");
}

// LLVM would end the process on the first instruction that needs it.
TEST_F(CPUTargetTest, RefusesFeaturesThatTheTierNeeds) {
  EXPECT_TRUE(failed(resolve("avx2", "", "-fma")));
  EXPECT_EQ(message, "features '-fma' take away fma, which tier 'avx2' needs");
  EXPECT_TRUE(failed(resolve("avx512_bf16", "", "-avx2")));
  EXPECT_THAT(message, HasSubstr("which tier 'avx512_bf16' needs"));
}

// No processor has both of these.
TEST_F(CPUTargetTest, RefusesToRunWhatTheHostLacks) {
  auto target = resolve("plain", "", "+sse4a,+avx10.2");
  ASSERT_TRUE(succeeded(target)) << message;
  EXPECT_FALSE(runs(*target));
  EXPECT_THAT(message, HasSubstr("this processor cannot run code for tier 'plain'"));
  EXPECT_THAT(message, HasSubstr("it lacks"));
}
