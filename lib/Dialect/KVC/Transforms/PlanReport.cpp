//===- PlanReport.cpp - what was considered, as a table -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Plan.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace mlir;
using namespace kvc;
using namespace kvc::plan;

/// Most candidates that are printed beside the first; of those that fit, and of
/// those that do not.
static constexpr size_t kMaxOthers = 5;

namespace {
/// Lines of texts in aligned columns. The first and the last are aligned to the
/// left.
class Table {
public:
  explicit Table(ArrayRef<StringRef> header) {
    add(llvm::to_vector(llvm::map_range(header, [](StringRef text) { return text.str(); })));
  }

  void add(SmallVector<std::string> line) { lines.push_back(std::move(line)); }

  void print(raw_ostream &os) const {
    SmallVector<size_t> widths(lines.front().size(), 0);
    for (const SmallVector<std::string> &line : lines)
      for (auto [width, text] : llvm::zip(widths, line))
        width = std::max(width, text.size());
    for (const SmallVector<std::string> &line : lines) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      for (auto [index, cell] : llvm::enumerate(line)) {
        stream << "  ";
        bool isLeft = index == 0 || index + 1 == line.size();
        stream.indent(isLeft ? 0 : widths[index] - cell.size()) << cell;
        if (index == 0)
          stream.indent(widths[index] - cell.size());
      }
      os << StringRef(text).rtrim() << "\n";
    }
  }

private:
  SmallVector<SmallVector<std::string>> lines;
};
} // namespace

static std::string toText(double count) { return llvm::formatv("{0:F0}", count); }

static std::string toMicroseconds(double seconds) {
  return llvm::formatv("{0:F2}", seconds * 1e6);
}

static void printTitle(raw_ostream &os, AttentionOp op, const Problem &problem,
                       TargetAttr target, StringRef processors) {
  auto function = op->getParentOfType<SymbolOpInterface>();
  const Batch &batch = problem.batch;
  os << "kvc-plan: @" << (function ? function.getName() : "?") << ", "
     << (problem.phase == Phase::Decode ? "decode" : "prefill") << " on " << target.getName()
     << " (" << target.getProcessors() << " " << processors << "), for " << batch.sequences
     << " x " << batch.kvTokens << " tokens, " << batch.queryTokens << " of each new\n";
}

/// The line of one candidate, and why it does not fit.
static SmallVector<std::string> getLine(StringRef what, const Candidate &candidate) {
  GPUStreamAttr s = candidate.stream;
  const GPUCost &c = candidate.cost;
  SmallVector<std::string> line = {what.str(), stringifyStreamForm(s.getForm()).str()};
  for (int64_t number :
       {s.getRows(), s.getKeys(), s.getStages(), s.getWarps(), s.getQueryTokens()})
    line.push_back(std::to_string(number));
  for (double count : {c.bytes, c.memoryBytes, c.operations, c.instructions})
    line.push_back(toText(count));
  line.push_back(stringifyBound(c.bound).str());
  line.push_back(toMicroseconds(c.seconds));
  for (int64_t number : {c.shared, c.registers, c.resident, c.blocks})
    line.push_back(std::to_string(number));
  line.push_back(c.misfit);
  return line;
}

void plan::printGPUReport(raw_ostream &os, AttentionOp op, const Problem &problem,
                          TargetAttr target, ArrayRef<Candidate> candidates, bool given) {
  printTitle(os, op, problem, target, "multiprocessors");
  Table table({"", "form", "rows", "keys", "stages", "warps", "query tokens", "bytes",
               "of memory", "operations", "instructions", "bound", "time/us", "shared/B",
               "registers", "blocks/SM", "blocks", ""});
  // Of those that share a tile, the best stands for all.
  using Tile = std::tuple<StreamForm, int64_t, int64_t>;
  std::set<Tile> shown;
  size_t fitting = 0, misfits = 0;
  for (const Candidate &candidate : candidates) {
    GPUStreamAttr s = candidate.stream;
    bool fits = candidate.cost.misfit.empty(), isFirst = fits && fitting == 0;
    size_t &count = fits ? fitting : misfits;
    // Besides the choice, up to kMaxOthers.
    if (count >= kMaxOthers + fits ||
        !shown.insert({s.getForm(), s.getRows(), s.getKeys()}).second)
      continue;
    ++count;
    table.add(getLine(!fits      ? "does not fit"
                      : !isFirst ? "other"
                      : given    ? "given"
                                 : "chosen",
                      candidate));
  }
  table.print(os);
  if (size_t leftOut = candidates.size() - fitting - misfits)
    os << "  and " << leftOut << " more\n";
}

void plan::printCPUReport(raw_ostream &os, AttentionOp op, const Problem &problem,
                          TargetAttr target, CPUScheduleAttr schedule, bool given) {
  printTitle(os, op, problem, target, "cores");
  bool isDecode = problem.phase == Phase::Decode;
  RegisterTileAttr tile = isDecode ? schedule.getDecode() : schedule.getPrefill();
  Cost cost = getCPUCost(problem, schedule, target);
  Table table({"", "products", "rows", "key vectors", "value vectors", "query tokens", "bytes",
               "of memory", "operations", "bound", "time/us", ""});
  SmallVector<std::string> line = {given ? "given" : "chosen",
                                   stringifyProducts(tile.getProducts()).str()};
  for (int64_t number : {tile.getRows(), tile.getKeyVectors(), tile.getValueVectors(),
                         isDecode ? 1 : schedule.getQueryTokens()})
    line.push_back(std::to_string(number));
  for (double count : {cost.bytes, cost.memoryBytes, cost.operations})
    line.push_back(toText(count));
  line.append({stringifyBound(cost.bound).str(), toMicroseconds(cost.seconds), ""});
  table.add(std::move(line));
  table.print(os);
}
