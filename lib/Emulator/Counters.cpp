//===- Counters.cpp - what a launch did, counted --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Emulator/Counters.h"

#include <algorithm>
#include <cstdio>
#include <vector>

using namespace kvc::emu;

const char *kvc::emu::getName(InstructionClass instructionClass) {
  switch (instructionClass) {
  case InstructionClass::Integer:
    return "integer";
  case InstructionClass::Integer64:
    return "integer64";
  case InstructionClass::Float:
    return "float";
  case InstructionClass::Half:
    return "half";
  case InstructionClass::Special:
    return "special";
  case InstructionClass::Convert:
    return "convert";
  case InstructionClass::Move:
    return "move";
  case InstructionClass::Compare:
    return "compare";
  case InstructionClass::Control:
    return "control";
  case InstructionClass::Global:
    return "global";
  case InstructionClass::Shared:
    return "shared";
  case InstructionClass::Local:
    return "local";
  case InstructionClass::Parameter:
    return "parameter";
  case InstructionClass::Atomic:
    return "atomic";
  case InstructionClass::Matrix:
    return "matrix";
  case InstructionClass::MatrixLoad:
    return "matrix_load";
  case InstructionClass::Copy:
    return "copy";
  case InstructionClass::Shuffle:
    return "shuffle";
  case InstructionClass::Barrier:
    return "barrier";
  case InstructionClass::Other:
    return "other";
  }
  return "unknown";
}

//===----------------------------------------------------------------------===//
// Adding
//===----------------------------------------------------------------------===//

static void add(GlobalTraffic &sum, const GlobalTraffic &other) {
  sum.requests += other.requests;
  sum.bytes += other.bytes;
  sum.sectors += other.sectors;
  sum.needed += other.needed;
}

static void add(SharedTraffic &sum, const SharedTraffic &other) {
  sum.requests += other.requests;
  sum.bytes += other.bytes;
  sum.wavefronts += other.wavefronts;
  sum.needed += other.needed;
}

Counters &Counters::operator+=(const Counters &other) {
  blocks += other.blocks;
  warps += other.warps;
  for (unsigned i = 0; i != kNumInstructionClasses; ++i)
    instructions[i] += other.instructions[i];
  threadInstructions += other.threadInstructions;
  divergentBranches += other.divergentBranches;
  add(globalLoads, other.globalLoads);
  add(globalStores, other.globalStores);
  add(globalAtomics, other.globalAtomics);
  add(copies, other.copies);
  add(sharedLoads, other.sharedLoads);
  add(sharedStores, other.sharedStores);
  add(matrixLoads, other.matrixLoads);
  add(copyStores, other.copyStores);
  add(remoteLoads, other.remoteLoads);
  multiplyAdds += other.multiplyAdds;
  barriers += other.barriers;
  copyGroups += other.copyGroups;
  return *this;
}

uint64_t Counters::getWarpInstructions() const {
  uint64_t sum = 0;
  for (uint64_t count : instructions)
    sum += count;
  return sum;
}

//===----------------------------------------------------------------------===//
// The rows that both forms show
//===----------------------------------------------------------------------===//

namespace {
struct GlobalRow {
  const char *name;
  const GlobalTraffic &traffic;
};
struct SharedRow {
  const char *name;
  const SharedTraffic &traffic;
};
} // namespace

static std::vector<GlobalRow> getGlobalRows(const Counters &counters) {
  return {{"global_loads", counters.globalLoads},
          {"global_stores", counters.globalStores},
          {"global_atomics", counters.globalAtomics},
          {"copies", counters.copies}};
}

static std::vector<SharedRow> getSharedRows(const Counters &counters) {
  return {{"shared_loads", counters.sharedLoads},
          {"shared_stores", counters.sharedStores},
          {"matrix_loads", counters.matrixLoads},
          {"copy_stores", counters.copyStores},
          {"remote_loads", counters.remoteLoads}};
}

//===----------------------------------------------------------------------===//
// A table
//===----------------------------------------------------------------------===//

/// "1234567" as "1,234,567".
static std::string group(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3; at -= 3)
    text.insert(at - 3, ",");
  return text;
}

/// `part` of `whole`, such as "12.5 %"; nothing if there is no whole.
static std::string percent(uint64_t part, uint64_t whole) {
  if (whole == 0)
    return "";
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%",
                100.0 * double(part) / double(whole));
  return text;
}

/// Lines of cells: the first column to the left, the others to the right.
static std::string align(const std::vector<std::vector<std::string>> &lines) {
  std::vector<size_t> widths;
  for (const std::vector<std::string> &line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i != line.size(); ++i)
      widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const std::vector<std::string> &line : lines) {
    std::string row;
    for (size_t i = 0; i != line.size(); ++i) {
      std::string padding(widths[i] - line[i].size(), ' ');
      row += i == 0 ? line[i] + padding : "  " + padding + line[i];
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string Counters::print() const {
  uint64_t total = getWarpInstructions();
  std::vector<std::vector<std::string>> lines = {
      {"blocks", group(blocks)},
      {"warps", group(warps)},
      {"warp instructions", group(total)}};
  for (unsigned i = 0; i != kNumInstructionClasses; ++i)
    if (instructions[i])
      lines.push_back({std::string("  ") + getName(InstructionClass(i)),
                       group(instructions[i]),
                       percent(instructions[i], total)});
  lines.push_back({"thread instructions", group(threadInstructions),
                   percent(threadInstructions, 32 * total)});
  lines.push_back({"divergent branches", group(divergentBranches)});
  lines.push_back({"matrix multiply-adds", group(multiplyAdds)});
  lines.push_back({"barriers passed", group(barriers)});
  lines.push_back({"copy groups", group(copyGroups)});
  std::string text = "counted, not timed\n" + align(lines);

  lines = {{"global memory", "warp requests", "bytes", "sectors of 32 bytes",
            "needed sectors", "needed / touched"}};
  for (const GlobalRow &row : getGlobalRows(*this))
    lines.push_back({std::string("  ") + row.name, group(row.traffic.requests),
                     group(row.traffic.bytes), group(row.traffic.sectors),
                     group(row.traffic.needed),
                     percent(row.traffic.needed, row.traffic.sectors)});
  text += "\n" + align(lines);

  lines = {{"shared memory", "warp requests", "bytes", "wavefronts",
            "needed wavefronts", "bank conflicts"}};
  for (const SharedRow &row : getSharedRows(*this))
    lines.push_back({std::string("  ") + row.name, group(row.traffic.requests),
                     group(row.traffic.bytes), group(row.traffic.wavefronts),
                     group(row.traffic.needed),
                     group(row.traffic.getConflicts())});
  return text + "\n" + align(lines);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

namespace {
/// Writes the members of an object.
class Object {
public:
  Object &add(const char *name, const std::string &value) {
    text += (text.empty() ? "\"" : ", \"") + std::string(name) + "\": " + value;
    return *this;
  }
  Object &add(const char *name, uint64_t value) {
    return add(name, std::to_string(value));
  }
  std::string str() const { return "{" + text + "}"; }

private:
  std::string text;
};
} // namespace

std::string Counters::toJSON() const {
  Object classes;
  for (unsigned i = 0; i != kNumInstructionClasses; ++i)
    classes.add(getName(InstructionClass(i)), instructions[i]);
  Object object;
  object.add("note", "\"counted, not timed\"")
      .add("blocks", blocks)
      .add("warps", warps)
      .add("warp_instructions", getWarpInstructions())
      .add("instructions", classes.str())
      .add("thread_instructions", threadInstructions)
      .add("divergent_branches", divergentBranches)
      .add("multiply_adds", multiplyAdds)
      .add("barriers", barriers)
      .add("copy_groups", copyGroups);
  for (const GlobalRow &row : getGlobalRows(*this))
    object.add(row.name, Object()
                             .add("requests", row.traffic.requests)
                             .add("bytes", row.traffic.bytes)
                             .add("sectors", row.traffic.sectors)
                             .add("needed_sectors", row.traffic.needed)
                             .str());
  for (const SharedRow &row : getSharedRows(*this))
    object.add(row.name, Object()
                             .add("requests", row.traffic.requests)
                             .add("bytes", row.traffic.bytes)
                             .add("wavefronts", row.traffic.wavefronts)
                             .add("needed_wavefronts", row.traffic.needed)
                             .add("conflicts", row.traffic.getConflicts())
                             .str());
  return object.str();
}
