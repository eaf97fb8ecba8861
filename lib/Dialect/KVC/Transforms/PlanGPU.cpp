//===- PlanGPU.cpp - candidates for the GPU, in order ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Plan.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace kvc;
using namespace kvc::plan;

static constexpr int64_t kMaxRows = 128, kMaxQueryTokens = 4096;
/// Times so close to the least are taken for equal, and for close: nearer than what the
/// model knows of a cache that another kernel may just have filled.
static constexpr double kEqualTimes = 1.02, kCloseTimes = 1.1;
/// An estimate of registers up to which fewer instructions are worth more.
static constexpr int64_t kFewRegisters = 200;
/// Columns of a value beyond which the form `columns` is always considered.
static constexpr int64_t kWideValue = 256;

/// Parses "16", "16x64", ... into rows, keys, stages and warps. Fails if it is none, or
/// if no stream has such a number.
static LogicalResult parseTile(StringRef text, AllowedForm &allowed) {
  std::optional<int64_t> *fields[] = {&allowed.rows, &allowed.keys, &allowed.stages,
                                      &allowed.warps};
  SmallVector<StringRef> numbers;
  text.split(numbers, 'x');
  if (numbers.size() > std::size(fields))
    return failure();
  for (auto [field, number] : llvm::zip(fields, numbers))
    if (number.getAsInteger(10, field->emplace()))
      return failure();
  auto isBetween = [](std::optional<int64_t> number, int64_t least, int64_t most) {
    return !number || (*number >= least && *number <= most);
  };
  return success(isBetween(allowed.rows, 8, kMaxRows) && isBetween(allowed.keys, 16, 256) &&
                 isBetween(allowed.stages, 2, 8) && isBetween(allowed.warps, 1, 8) &&
                 llvm::isPowerOf2_64(allowed.warps.value_or(1)));
}

FailureOr<AllowedForms> plan::parseForms(StringRef text,
                                         function_ref<InFlightDiagnostic()> emitError) {
  AllowedForms forms;
  for (StringRef item : llvm::split(text, ',')) {
    auto [name, tile] = item.split(':');
    std::optional<StreamForm> form = symbolizeStreamForm(name);
    if (!form)
      return emitError() << "expected forms of heads_m, tokens_m, rows and columns, got '"
                         << item << "'";
    AllowedForm allowed = {*form, {}, {}, {}, {}};
    if (item.contains(':') && failed(parseTile(tile, allowed)))
      return emitError() << "expected rows (8 to 128), keys (16 to 256), stages (2 to 8) and "
                            "warps (1, 2, 4 or 8) like 16x64x3x4, or the first of them, got '"
                         << tile << "'";
    forms.push_back(allowed);
  }
  return forms;
}

Type plan::getMatrixElement(AttentionOp op, TargetAttr target) {
  // Codes become f16; beside them, and of queries and output, either type will do.
  Type element = op.getValueComponent().getElementType();
  bool hasCodes = isQuantized(element), isSame = true;
  SmallVector<Type> others = {getElementTypeOrSelf(op.getOutput())};
  for (auto [index, query] : llvm::enumerate(op.getQueries())) {
    Type key = op.getTermComponent(index).getElementType();
    hasCodes |= isQuantized(key);
    others.push_back(getElementTypeOrSelf(query));
    if (!isQuantized(key)) {
      others.push_back(key);
      isSame &= key == others[others.size() - 2];
    }
  }
  auto is16Bit = [](Type type) { return type.isF16() || type.isBF16(); };
  if (hasCodes) {
    isSame &= llvm::all_of(others, is16Bit) && (isQuantized(element) || is16Bit(element));
    element = Float16Type::get(op.getContext());
  } else {
    isSame = llvm::all_of(others, [&](Type other) { return other == element; });
  }
  return isSame && target.getMatrixRate(element) > 0 ? element : Type();
}

/// True if warps of the form can share tiles of so many rows and keys.
static bool isLegal(StreamForm form, int64_t rows, int64_t keys, int64_t warps) {
  switch (form) {
  case StreamForm::HeadsM:
    return rows % 16 == 0 && keys % (16 * warps) == 0;
  case StreamForm::TokensM:
    return rows % 8 == 0 && keys % (16 * warps) == 0;
  case StreamForm::Rows:
    return rows % (16 * warps) == 0 && keys % 16 == 0;
  case StreamForm::Columns: // each warp computes the scores of keys of its own
    return rows % 16 == 0 && keys % 16 == 0 && keys % (8 * warps) == 0;
  }
  llvm_unreachable("unknown form");
}

static SmallVector<GPUStreamAttr> getStreams(MLIRContext *context, const Problem &problem,
                                             const AllowedForms &forms) {
  bool isDecode = problem.phase == Phase::Decode;
  SmallVector<GPUStreamAttr> streams;
  auto choose = [](std::optional<int64_t> given, ArrayRef<int64_t> all) {
    return given ? SmallVector<int64_t>{*given} : SmallVector<int64_t>(all);
  };
  for (const AllowedForm &allowed : forms) {
    StreamForm form = allowed.form;
    int64_t unit = form == StreamForm::TokensM ? 8 : 16;
    // More rows than there are would be padding.
    int64_t all = isDecode ? problem.group : problem.group * problem.batch.queryTokens;
    SmallVector<int64_t> everyRows;
    for (int64_t rows = unit; rows <= kMaxRows && rows - unit < all; rows += unit)
      everyRows.push_back(rows);
    for (int64_t rows : choose(allowed.rows, everyRows))
      for (int64_t keys : choose(allowed.keys, {16, 32, 64, 128, 256}))
        for (int64_t stages : choose(allowed.stages, {2, 3, 4, 6}))
          for (int64_t warps : choose(allowed.warps, {1, 2, 4, 8})) {
            if (!isLegal(form, rows, keys, warps))
              continue;
            int64_t queryTokens =
                isDecode ? 1 : std::clamp<int64_t>(rows / problem.group, 1, kMaxQueryTokens);
            streams.push_back(
                GPUStreamAttr::get(context, form, rows, keys, stages, warps, queryTokens));
          }
  }
  return streams;
}

/// Adds the candidates of `forms`.
static void addCandidates(const Problem &problem, const AllowedForms &forms, int64_t split,
                          Type element, TargetAttr target,
                          SmallVector<Candidate> &candidates) {
  for (GPUStreamAttr stream : getStreams(target.getContext(), problem, forms))
    candidates.push_back(
        {stream, getGPUCost(problem, stream, llvm::alignTo(split, stream.getKeys()), element,
                            target)});
}

SmallVector<Candidate> plan::rankStreams(const Problem &problem, const AllowedForms &forms,
                                         int64_t split, Type element, TargetAttr target) {
  // Where columns are split, warps wait for each other twice a tile: for values
  // whose accumulators would leave a warp no other way than a few rows, or none, and for
  // decode of more rows than others can hold, which would read the cache once for each part.
  AllowedForms usual, wide;
  for (const AllowedForm &allowed : forms)
    (allowed.form == StreamForm::Columns ? wide : usual).push_back(allowed);
  SmallVector<Candidate> candidates;
  addCandidates(problem, usual, split, element, target, candidates);
  auto readersOf = [&](const Candidate &candidate) {
    return llvm::divideCeil(problem.group, candidate.stream.getRows());
  };
  bool isDecode = problem.phase == Phase::Decode;
  auto suffices = [&](const Candidate &c) {
    return c.cost.misfit.empty() && (!isDecode || readersOf(c) == 1);
  };
  if (problem.valuePadded > kWideValue || llvm::none_of(candidates, suffices))
    addCandidates(problem, wide, split, element, target, candidates);

  // Equal to a nanosecond is equal; then their order above decides.
  auto key = [](const Candidate &candidate) {
    const GPUCost &cost = candidate.cost;
    return std::make_tuple(!cost.misfit.empty(), std::llround(cost.seconds * 1e9),
                           cost.registers);
  };
  llvm::stable_sort(candidates,
                    [&](const Candidate &a, const Candidate &b) { return key(a) < key(b); });
  if (!isDecode || candidates.empty())
    return candidates;
  // Of close ones, those that read the cache the fewest times; over codes, of equal ones
  // among these, the one with the least to do, then with the smallest tiles.
  auto endOf = [&](double factor, auto isAlike) {
    const Candidate &best = candidates.front();
    return llvm::find_if(candidates, [&](const Candidate &c) {
      return !c.cost.misfit.empty() || c.cost.seconds > best.cost.seconds * factor ||
             !isAlike(best, c);
    });
  };
  auto close = endOf(kCloseTimes, [](auto &, auto &) { return true; });
  std::stable_sort(candidates.begin(), close, [&](const Candidate &a, const Candidate &b) {
    return readersOf(a) < readersOf(b);
  });
  if (!problem.decodesCodes())
    return candidates;
  auto equal = endOf(kEqualTimes, [&](const Candidate &a, const Candidate &b) {
    return readersOf(a) == readersOf(b);
  });
  auto order = [](const Candidate &candidate) {
    const GPUCost &cost = candidate.cost;
    return std::make_tuple(cost.registers > kFewRegisters, cost.instructions, cost.shared);
  };
  std::stable_sort(candidates.begin(), equal,
                   [&](const Candidate &a, const Candidate &b) { return order(a) < order(b); });
  return candidates;
}
