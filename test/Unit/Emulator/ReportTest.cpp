//===- ReportTest.cpp - reports and counters as text ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Emulator/Report.h"
#include "kvc/Emulator/Counters.h"

#include <gtest/gtest.h>
#include <set>

using namespace kvc::emu;

TEST(ReportTest, OneLine) {
  Report report;
  report.kind = ReportKind::Race;
  report.kernel = "scale";
  report.line = 12;
  report.block = {1, 2, 3};
  report.warp = 4;
  report.lane = 5;
  report.message = "expected this, got that";
  EXPECT_EQ(report.print(), "scale:12: error: race: expected this, got that "
                            "[block (1, 2, 3), warp 4, lane 5]");
  report.count = 7;
  report.instruction = "ret;";
  EXPECT_EQ(report.print(), "scale:12: error: race: expected this, got that "
                            "[block (1, 2, 3), warp 4, lane 5] (7 times): "
                            "ret;");
}

TEST(ReportTest, NamesDiffer) {
  std::set<std::string> names;
  for (int kind = 0; kind <= int(ReportKind::Limit); ++kind)
    EXPECT_TRUE(names.insert(getName(ReportKind(kind))).second) << kind;
  EXPECT_EQ(names.count("unknown"), 0u);
}

static Counters makeCounters() {
  Counters counters;
  counters.blocks = 2;
  counters.warps = 8;
  counters.instructions[unsigned(InstructionClass::Integer)] = 3000;
  counters.instructions[unsigned(InstructionClass::Matrix)] = 1000;
  counters.threadInstructions = 64000;
  counters.globalLoads = {10, 1280, 80, 40};
  counters.sharedStores = {5, 640, 20, 5};
  counters.multiplyAdds = 2048000;
  return counters;
}

TEST(CountersTest, NamesDiffer) {
  std::set<std::string> names;
  for (unsigned i = 0; i != kNumInstructionClasses; ++i)
    EXPECT_TRUE(names.insert(getName(InstructionClass(i))).second) << i;
  EXPECT_EQ(names.count("unknown"), 0u);
}

TEST(CountersTest, Table) {
  EXPECT_EQ(makeCounters().print(),
            R"(counted, not timed
blocks                        2
warps                         8
warp instructions         4,000
  integer                 3,000  75.0 %
  matrix                  1,000  25.0 %
thread instructions      64,000  50.0 %
divergent branches            0
matrix multiply-adds  2,048,000
barriers passed               0
copy groups                   0

global memory     warp requests  bytes  sectors of 32 bytes  needed sectors  needed / touched
  global_loads               10  1,280                   80              40            50.0 %
  global_stores               0      0                    0               0
  global_atomics              0      0                    0               0
  copies                      0      0                    0               0

shared memory    warp requests  bytes  wavefronts  needed wavefronts  bank conflicts
  shared_loads               0      0           0                  0               0
  shared_stores              5    640          20                  5              15
  matrix_loads               0      0           0                  0               0
  copy_stores                0      0           0                  0               0
  remote_loads               0      0           0                  0               0
)");
}

TEST(CountersTest, JSON) {
  std::string text = makeCounters().toJSON();
  EXPECT_EQ(text.rfind("{\"note\": \"counted, not timed\", \"blocks\": 2, "
                       "\"warps\": 8, \"warp_instructions\": 4000, "
                       "\"instructions\": {\"integer\": 3000, ",
                       0),
            0u)
      << text;
  EXPECT_NE(text.find("\"shared_stores\": {\"requests\": 5, \"bytes\": 640, "
                      "\"wavefronts\": 20, \"needed_wavefronts\": 5, "
                      "\"conflicts\": 15}"),
            std::string::npos)
      << text;
}

TEST(CountersTest, Sum) {
  Counters sum = makeCounters();
  sum += makeCounters();
  EXPECT_EQ(sum.getWarpInstructions(), 8000u);
  EXPECT_EQ(sum.threadInstructions, 128000u);
  EXPECT_EQ(sum.globalLoads.sectors, 160u);
  EXPECT_EQ(sum.sharedStores.getConflicts(), 30u);
  EXPECT_EQ(sum.multiplyAdds, 4096000u);
}
