//===- RandomOrderTest.cpp - races of random kernels ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of random accesses and barriers. Which of the accesses are in order is
// worked out here thread by thread, from the text alone, and compared with what the
// emulator reports: never a line without a race, and every place with one.
//===----------------------------------------------------------------------===//
#include "CheckRunner.h"

#include <random>

using namespace kvc::emu;

namespace {

/// What one thread did to some bytes.
struct Event {
  uint32_t thread, line, address, size;
  bool isWrite, isStrong;
  std::vector<uint32_t> clock; ///< Of its thread when it happened.
};

/// Vector clocks of all threads of a block.
class Model {
public:
  explicit Model(uint32_t numThreads)
      : clocks(numThreads, std::vector<uint32_t>(numThreads, 0)) {
    for (uint32_t t = 0; t < numThreads; ++t)
      clocks[t][t] = 1;
  }

  void access(uint32_t thread, uint32_t line, uint32_t address, uint32_t size,
              bool isWrite, bool isStrong) {
    events.push_back({thread, line, address, size, isWrite, isStrong, clocks[thread]});
  }
  /// Threads from `begin` to `end` wait for each other.
  void synchronise(const std::vector<uint32_t> &threads) {
    std::vector<uint32_t> joined(clocks.size(), 0);
    for (uint32_t t : threads)
      for (size_t i = 0; i < joined.size(); ++i)
        joined[i] = std::max(joined[i], clocks[t][i]);
    for (uint32_t t : threads) {
      clocks[t] = joined;
      ++clocks[t][t];
    }
  }

  /// Lines of accesses that take part in a race, and the bytes that are raced for.
  void findRaces(std::set<uint32_t> &lines, std::set<uint32_t> &bytes,
                 bool areWarpsOrdered) const {
    for (size_t i = 0; i < events.size(); ++i) {
      for (size_t k = i + 1; k < events.size(); ++k) {
        const Event &a = events[i], &b = events[k];
        uint32_t begin = std::max(a.address, b.address);
        uint32_t end = std::min(a.address + a.size, b.address + b.size);
        if (begin >= end || !(a.isWrite || b.isWrite) || a.thread == b.thread ||
            (a.isStrong && b.isStrong) ||
            (areWarpsOrdered && a.thread / 32 == b.thread / 32) ||
            a.clock[a.thread] <= b.clock[a.thread] ||
            b.clock[b.thread] <= a.clock[b.thread])
          continue;
        lines.insert(a.line);
        lines.insert(b.line);
        for (uint32_t byte = begin; byte < end; ++byte)
          bytes.insert(byte);
      }
    }
  }
  const std::vector<Event> &getEvents() const { return events; }

private:
  std::vector<std::vector<uint32_t>> clocks;
  std::vector<Event> events;
};

/// What a random kernel is made of.
struct Recipe {
  uint32_t numWarps, numSteps, numWords;
  bool hasSmall = false;  ///< Accesses of 1 and 2 bytes, and vectors.
  bool hasDense = false;  ///< Accesses of whole warps.
  bool hasAtomics = false;
  bool hasNamed = false;  ///< Barriers of two warps.
  uint32_t barrierOdds;   ///< One in so many steps.
};

class Generator {
public:
  Generator(const Recipe &recipe, uint64_t seed)
      : recipe(recipe), random(seed), model(recipe.numWarps * 32) {}

  /// Makes the body; its first line is number `firstLine` of the text.
  std::string make(uint32_t firstLine) {
    line = firstLine;
    add("mov.u32 %r8, smem;");
    // All words are written, then ordered.
    add("mad.lo.u32 %r9, %t, 16, %r8;");
    add("st.shared.v4.u32 [%r9], {%t, %t, %t, %t};");
    add("bar.sync 0;");
    for (uint32_t i = 0; i < recipe.numSteps; ++i)
      addStep();
    return text;
  }
  const Model &getModel() const { return model; }

private:
  uint32_t below(uint32_t limit) { return uint32_t(random() % limit); }
  void add(const std::string &instruction) {
    text += instruction + "\n";
    ++line;
  }
  std::vector<uint32_t> getThreads(uint32_t firstWarp, uint32_t count) {
    std::vector<uint32_t> threads;
    for (uint32_t t = 0; t < 32 * count; ++t)
      threads.push_back(firstWarp * 32 + t);
    return threads;
  }

  void addStep() {
    if (below(recipe.barrierOdds) == 0) {
      switch (below(recipe.hasNamed ? 3 : 2)) {
      case 0:
        add("bar.sync 0;");
        model.synchronise(getThreads(0, recipe.numWarps));
        return;
      case 1:
        add("bar.warp.sync -1;");
        for (uint32_t w = 0; w < recipe.numWarps; ++w)
          model.synchronise(getThreads(w, 1));
        return;
      default: {
        uint32_t first = below(recipe.numWarps), second = below(recipe.numWarps);
        if (first == second)
          return;
        add("setp.eq.u32 %p0, %w, " + std::to_string(first) + ";");
        add("setp.eq.or.u32 %p0, %w, " + std::to_string(second) + ", %p0;");
        // Each pair has its own barrier.
        uint32_t id = 1 + std::min(first, second) * 4 + std::max(first, second);
        add("@%p0 bar.sync " + std::to_string(id) + ", 64;");
        std::vector<uint32_t> threads = getThreads(first, 1);
        for (uint32_t t : getThreads(second, 1))
          threads.push_back(t);
        model.synchronise(threads);
        return;
      }
      }
    }
    bool isWrite = below(2), isStrong = recipe.hasAtomics && below(3) == 0;
    uint32_t size = 4;
    if (recipe.hasSmall && !isStrong)
      size = 1u << below(5);
    bool isDense = recipe.hasDense && below(3) == 0;
    uint32_t length = isDense ? 32 * size : size, bytes = 4 * recipe.numWords;
    uint32_t offset = length >= bytes ? 0 : below((bytes - length) / size + 1) * size;
    uint32_t thread = below(recipe.numWarps * 32);
    if (isDense) {
      add("setp.eq.u32 %p0, %w, " + std::to_string(thread / 32) + ";");
      add("mad.lo.u32 %r9, %l, " + std::to_string(size) + ", %r8;");
    } else {
      add("setp.eq.u32 %p0, %t, " + std::to_string(thread) + ";");
      add("mov.u32 %r9, %r8;");
    }
    std::string place = "[%r9+" + std::to_string(offset) + "]";
    if (isStrong)
      isWrite = true;
    for (uint32_t l = 0; l < (isDense ? 32 : 1); ++l)
      model.access(isDense ? thread / 32 * 32 + l : thread, line, offset + l * size,
                   size, isWrite, isStrong);
    add("@%p0 " + (isStrong  ? "red.shared.add.u32 " + place + ", 1;"
                   : isWrite ? getStore(size, place)
                             : getLoad(size, place)));
  }

  static std::string getStore(uint32_t size, const std::string &place) {
    switch (size) {
    case 1: return "st.shared.u8 " + place + ", 1;";
    case 2: return "st.shared.u16 " + place + ", 1;";
    case 4: return "st.shared.u32 " + place + ", 1;";
    case 8: return "st.shared.v2.u32 " + place + ", {%t, %t};";
    default: return "st.shared.v4.u32 " + place + ", {%t, %t, %t, %t};";
    }
  }
  static std::string getLoad(uint32_t size, const std::string &place) {
    switch (size) {
    case 1: return "ld.shared.u8 %r0, " + place + ";";
    case 2: return "ld.shared.u16 %h0, " + place + ";";
    case 4: return "ld.shared.u32 %r0, " + place + ";";
    case 8: return "ld.shared.u64 %d0, " + place + ";";
    default: return "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, " + place + ";";
    }
  }

  Recipe recipe;
  std::mt19937_64 random;
  Model model;
  std::string text;
  uint32_t line = 0;
};

} // namespace

/// Lines of a kernel before its body.
static uint32_t getFirstLine() {
  CheckRunner runner("trap;");
  return runner.run(kModes[0]).reports.at(0).line;
}

/// Compares reports with the model; `isComplete`: every byte with a race must be one
/// that a reported line accesses. Returns whether there is a race.
static bool compare(const Recipe &recipe, uint64_t seed, bool isComplete) {
  SCOPED_TRACE(seed);
  static const uint32_t firstLine = getFirstLine();
  Generator generator(recipe, seed);
  CheckRunner runner(generator.make(firstLine));
  runner.block = {recipe.numWarps * 32, 1, 1};
  runner.options.maxReports = 1000;
  std::set<uint32_t> racyLines, racyBytes;
  generator.getModel().findRaces(racyLines, racyBytes, false);
  for (const Mode &mode : {kModes[0], kModes[2], kModes[3]}) {
    LaunchResult result = runner.run(mode);
    EXPECT_TRUE(result.finished) << result.error;
    std::set<uint32_t> reported;
    for (const Report &report : result.reports) {
      EXPECT_EQ(report.kind, ReportKind::Race) << report.print();
      EXPECT_TRUE(racyLines.count(report.line)) << mode.name << ": " << report.print();
      reported.insert(report.line);
    }
    if (!isComplete)
      continue;
    std::set<uint32_t> found;
    for (const Event &event : generator.getModel().getEvents())
      if (reported.count(event.line))
        for (uint32_t i = 0; i < event.size; ++i)
          found.insert(event.address + i);
    for (uint32_t byte : racyBytes)
      if (!found.count(byte)) {
        ADD_FAILURE() << mode.name << ": no report of byte " << byte;
        break;
      }
  }
  return !racyLines.empty();
}

TEST(RandomOrderTest, WholeWords) {
  unsigned numRacy = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Recipe recipe;
    recipe.numWarps = 1 + seed % 4;
    recipe.numSteps = 30;
    recipe.numWords = 4 + seed % 40;
    recipe.barrierOdds = 2 + seed % 5;
    numRacy += compare(recipe, seed, true);
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(numRacy, 30u); // else it shows little
  EXPECT_LT(numRacy, 150u);
}

TEST(RandomOrderTest, BytesAndVectors) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Recipe recipe;
    recipe.numWarps = 1 + seed % 4;
    recipe.numSteps = 40;
    recipe.numWords = 8 + seed % 24;
    recipe.barrierOdds = 2 + seed % 4;
    recipe.hasSmall = true;
    compare(recipe, seed, true);
    if (testing::Test::HasFailure())
      return;
  }
}

TEST(RandomOrderTest, WholeWarps) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Recipe recipe;
    recipe.numWarps = 2 + seed % 3;
    recipe.numSteps = 30;
    recipe.numWords = 128 * recipe.numWarps;
    recipe.barrierOdds = 2 + seed % 4;
    recipe.hasSmall = seed % 2;
    recipe.hasDense = true;
    compare(recipe, seed, true);
    if (testing::Test::HasFailure())
      return;
  }
}

/// Barriers of some warps and atomics: some races may be missed, none invented.
TEST(RandomOrderTest, NamedBarriersAndAtomics) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Recipe recipe;
    recipe.numWarps = 2 + seed % 3;
    recipe.numSteps = 50;
    recipe.numWords = 4 + seed % 60;
    recipe.barrierOdds = 2;
    recipe.hasSmall = seed % 3 == 0;
    recipe.hasAtomics = seed % 2;
    recipe.hasNamed = true;
    compare(recipe, seed, false);
    if (testing::Test::HasFailure())
      return;
  }
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// Two blocks that access words of a few sectors at random, in barriers of their own;
/// lanes of a warp are in order there. Of a sector with more than two writers or
/// readers some are forgotten, so that races may be missed, but none is invented.
TEST(RandomOrderTest, GlobalMemory) {
  uint32_t firstLine = getFirstLine();
  unsigned numRacy = 0, numFound = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto below = [&](uint32_t limit) { return uint32_t(random() % limit); };
    constexpr uint32_t kThreads = 96; // of a block
    Model model(2 * kThreads);
    uint32_t numWords = 4 + below(28), odds = 1 + below(4), line = firstLine;
    std::string body;
    auto add = [&](const std::string &instruction) {
      body += instruction + "\n";
      ++line;
    };
    add("mad.lo.u32 %r1, %b, " + std::to_string(kThreads) + ", %t;");
    for (int step = 0; step < 30; ++step) {
      if (below(odds + 1) == 0) {
        add("bar.sync 0;");
        for (uint32_t block = 0; block < 2; ++block) {
          std::vector<uint32_t> threads;
          for (uint32_t t = 0; t < kThreads; ++t)
            threads.push_back(block * kThreads + t);
          model.synchronise(threads);
        }
        continue;
      }
      uint32_t thread = below(2 * kThreads), size = 1u << below(3);
      uint32_t offset = below(4 * numWords / size) * size;
      // Blocks mostly keep to their own words, not to their own sectors.
      if (below(8))
        offset = offset / 8 * 8 + thread / kThreads * 4 + offset % 4 / size * size;
      bool isWrite = below(2), isStrong = size == 4 && below(4) == 0;
      add("setp.eq.u32 %p0, %r1, " + std::to_string(thread) + ";");
      std::string type = ".u" + std::to_string(8 * size) + " ";
      std::string place = "[%in+" + std::to_string(offset) + "]";
      model.access(thread, line, offset, size, isWrite, isStrong);
      add(std::string("@%p0 ") + (isWrite ? "st" : "ld") +
          (isStrong ? ".volatile" : "") + ".global" + type +
          (isWrite ? place + ", %r1;" : "%r2, " + place + ";"));
    }
    std::set<uint32_t> racyLines, racyBytes;
    model.findRaces(racyLines, racyBytes, true);
    CheckRunner runner(body);
    runner.grid = {2, 1, 1};
    runner.block = {kThreads, 1, 1};
    runner.options.maxReports = 1000;
    for (const Mode &mode : kModes) {
      LaunchResult result = runner.run(mode);
      EXPECT_TRUE(result.finished) << result.error;
      for (const Report &report : result.reports) {
        EXPECT_EQ(report.kind, ReportKind::Race) << report.print();
        EXPECT_TRUE(racyLines.count(report.line)) << mode.name << ": " << report.print();
      }
      numRacy += !racyLines.empty();
      numFound += !racyLines.empty() && result.numReports > 0;
    }
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(numRacy, 200u);
  EXPECT_LT(numRacy, 800u);
  EXPECT_GE(numFound * 100, numRacy * 80) << numFound << " of " << numRacy;
}
