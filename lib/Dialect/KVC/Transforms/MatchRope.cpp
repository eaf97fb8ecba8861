//===- MatchRope.cpp - rotary embeddings, by what is computed -------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   out_a = c (x_a cos(position f_p) - x_b sin(position f_p))
//   out_b = c (x_b cos(position f_p) + x_a sin(position f_p))    for pair p of columns a, b
//
// The width is static and small, so that every column is looked at by itself: with a
// constant for the column, slices, negated halves, concatenations and pairs all come down
// to such sums.
//===----------------------------------------------------------------------===//
#include "RopeElements.h"

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

/// The widest rows that are looked at.
static constexpr int64_t kMaxWidth = 4096;

namespace {
class RopeMatcher {
public:
  RopeMatcher(Elements &elements, RaiseFailure &why)
      : elements(elements), space(elements.getSpace()), why(why) {}

  bool match(Value tensor);
  RopeElements result;

private:
  /// A factor times an element.
  struct Scaled {
    double factor;
    Element element;
  };
  struct Angle {
    RopeElements::Frequency frequency;
    Element position = nullptr;
  };
  /// factor * x * cos(angle), or sin.
  struct Product {
    double factor = 1;
    bool isCos = false;
    Element angle = nullptr;
    Element x = nullptr;
  };
  /// A column of the result: cos first.
  struct Column {
    Product cos, sin;
  };
  /// A column of a tensor that may be the input.
  struct Source {
    Value tensor;
    int64_t column;
    double factor;
  };

  Element loadColumn(int64_t column);
  /// Takes constant factors off, and signs.
  Scaled takeFactors(Element element);
  std::optional<Product> matchProduct(Element element);
  std::optional<Column> matchColumn(Element element);
  /// Whether a column is one of an embedding with factors that are no cosines and sines.
  bool isOfTables(Element element);
  std::optional<Angle> matchAngle(Element element);
  /// Tensors of the result's shape and type that the element is a column of, the nearest
  /// first.
  SmallVector<Source> collectSources(Element element);
  std::optional<Source> findSource(Element element, Value tensor);

  bool matchInput(Value input, ArrayRef<Column> columns);
  bool matchRest(Value input, int64_t first);

  bool fail(const Twine &reason) {
    why.reason = reason.str();
    return false;
  }

  Elements &elements;
  IndexSpace &space;
  RaiseFailure &why;
  Value tensor;
  RankedTensorType type;
};
} // namespace

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

Element RopeMatcher::loadColumn(int64_t column) {
  elements.resetBudget();
  SmallVector<Expr> indices(result.dims);
  indices.push_back(space.constant(column));
  return elements.load(tensor, indices);
}

RopeMatcher::Scaled RopeMatcher::takeFactors(Element element) {
  double factor = 1;
  while (true) {
    Element resolved = elements.resolve(element);
    if (resolved->is("arith.negf")) {
      factor = -factor;
      element = resolved->operands[0];
      continue;
    }
    if (!resolved->is("arith.mulf") && !resolved->is("arith.divf"))
      return {factor, element};
    Element lhs = resolved->operands[0], rhs = resolved->operands[1];
    if (resolved->is("arith.mulf") && elements.evaluate(lhs))
      std::swap(lhs, rhs);
    std::optional<double> number = elements.evaluate(rhs);
    if (!number || *number == 0)
      return {factor, element};
    factor = resolved->is("arith.mulf") ? factor * *number : factor / *number;
    element = lhs;
  }
}

std::optional<RopeMatcher::Product> RopeMatcher::matchProduct(Element element) {
  auto [factor, rest] = takeFactors(element);
  Element product = elements.resolve(rest);
  if (!product->is("arith.mulf"))
    return std::nullopt;
  for (unsigned i : {0, 1}) {
    Scaled scaled = takeFactors(product->operands[i]);
    Element turn = elements.resolve(scaled.element);
    if (turn->is("math.cos") || turn->is("math.sin"))
      return Product{factor * scaled.factor, turn->is("math.cos"), turn->operands[0],
                     product->operands[1 - i]};
  }
  return std::nullopt;
}

std::optional<RopeMatcher::Column> RopeMatcher::matchColumn(Element element) {
  Element sum = elements.resolve(element);
  if (!sum->is("arith.addf") && !sum->is("arith.subf"))
    return std::nullopt;
  std::optional<Product> first = matchProduct(sum->operands[0]);
  std::optional<Product> second = matchProduct(sum->operands[1]);
  if (!first || !second || first->isCos == second->isCos)
    return std::nullopt;
  if (sum->is("arith.subf"))
    second->factor = -second->factor;
  return first->isCos ? Column{*first, *second} : Column{*second, *first};
}

bool RopeMatcher::isOfTables(Element element) {
  Element sum = elements.resolve(element);
  if (!sum->is("arith.addf") && !sum->is("arith.subf"))
    return false;
  SmallVector<Source> sources[2];
  for (unsigned i : {0, 1}) {
    Element product = elements.resolve(takeFactors(sum->operands[i]).element);
    if (!product->is("arith.mulf"))
      return false;
    for (Element operand : product->operands)
      llvm::append_range(sources[i], collectSources(operand));
  }
  return llvm::any_of(sources[0], [&](const Source &a) {
    return llvm::any_of(sources[1], [&](const Source &b) {
      return a.tensor == b.tensor && a.column != b.column && a.factor != b.factor;
    });
  });
}

/// The angle is a product of an integer, which is the position, constants, and at most one
/// other tensor.
std::optional<RopeMatcher::Angle> RopeMatcher::matchAngle(Element element) {
  auto refuse = [&](const Twine &reason) {
    fail(reason);
    return std::nullopt;
  };
  Angle angle;
  if (std::optional<double> number = elements.evaluate(element)) {
    angle.frequency.factor = *number;
    return angle;
  }
  auto [factor, rest] = takeFactors(element);
  angle.frequency.factor = factor;
  Element product = elements.resolve(rest);
  // A matrix product of a column and a row.
  while (product->isReduce("arith.addf") &&
         llvm::all_of(product->dims,
                      [&](Expr dim) { return space.getExtent(dim) == space.constant(1); }) &&
         elements.resolve(product->operands[1])->getNumber() == 0.0) {
    Scaled scaled = takeFactors(product->operands[0]);
    angle.frequency.factor *= scaled.factor;
    rest = scaled.element;
    product = elements.resolve(rest);
  }
  if (product->is("arith.mulf")) {
    // If none of the factors has the position, the whole is a frequency.
    std::optional<Angle> lhs = matchAngle(product->operands[0]);
    std::optional<Angle> rhs = lhs ? matchAngle(product->operands[1]) : std::nullopt;
    if (!rhs)
      return std::nullopt;
    if (lhs->position && rhs->position)
      return refuse("an angle is a product of two integers");
    if (lhs->position || rhs->position) {
      if (lhs->frequency.load && rhs->frequency.load)
        return refuse("an angle is a product of a position and two tensors");
      angle.position = lhs->position ? lhs->position : rhs->position;
      angle.frequency.factor *= lhs->frequency.factor * rhs->frequency.factor;
      angle.frequency.load = lhs->frequency.load ? lhs->frequency.load : rhs->frequency.load;
      return angle;
    }
  } else if (product->is("arith.sitofp") || product->is("arith.uitofp")) {
    angle.position = product->operands[0];
    return angle;
  }
  rest = elements.followMoves(rest);
  if (rest->kind != ElementKind::Load)
    return refuse("an angle is not the product of a position and a frequency");
  angle.frequency.load = rest;
  return angle;
}

//===----------------------------------------------------------------------===//
// The input
//===----------------------------------------------------------------------===//

SmallVector<RopeMatcher::Source> RopeMatcher::collectSources(Element element) {
  SmallVector<Source> sources;
  double factor = 1;
  while (true) {
    if (element->is("arith.negf")) {
      factor = -factor;
      element = element->operands[0];
    } else if (element->is("arith.mulf") || element->is("arith.divf")) {
      Scaled scaled = takeFactors(element);
      if (scaled.element == element)
        return sources;
      factor *= scaled.factor;
      element = scaled.element;
    }
    if (element->kind != ElementKind::Load)
      return sources;
    auto source = cast<RankedTensorType>(element->tensor.getType());
    SmallVector<Expr> sizes = elements.getSizes(element->tensor);
    auto hasSameDim = [&](auto dim) {
      return space.areEqual(element->indices[dim], result.dims[dim]) &&
             space.areEqual(sizes[dim], space.getExtent(result.dims[dim]));
    };
    if (source.getElementType() == type.getElementType() &&
        source.getRank() == type.getRank() &&
        source.getShape().back() == type.getShape().back() &&
        llvm::all_of(llvm::seq<size_t>(result.dims.size()), hasSameDim))
      if (auto column = dyn_cast<AffineConstantExpr>(element->indices.back()))
        sources.push_back({element->tensor, column.getValue(), factor});
    element = elements.expand(element);
    if (!element)
      return sources;
  }
}

std::optional<RopeMatcher::Source> RopeMatcher::findSource(Element element, Value tensor) {
  for (const Source &source : collectSources(element))
    if (source.tensor == tensor)
      return source;
  return std::nullopt;
}

/// Whether the columns are those of an embedding of `input`.
bool RopeMatcher::matchInput(Value input, ArrayRef<Column> columns) {
  int64_t width = columns.size(), half = width / 2;
  result.frequencies.assign(half, {});
  for (auto [a, column] : llvm::enumerate(columns)) {
    elements.resetBudget();
    std::optional<Source> own = findSource(column.cos.x, input);
    std::optional<Source> other = findSource(column.sin.x, input);
    if (!own || !other || own->column != static_cast<int64_t>(a))
      return fail("its columns are not those of one tensor in the same order");
    if (a == 0) {
      result.style = other->column == half ? RopeStyle::Half : RopeStyle::Interleaved;
      result.scale = own->factor * column.cos.factor;
    }
    bool isHalf = result.style == RopeStyle::Half;
    int64_t pair = isHalf ? a % half : a / 2;
    bool isFirst = isHalf ? static_cast<int64_t>(a) < half : a % 2 == 0;
    int64_t step = isHalf ? half : 1;
    if (other->column != static_cast<int64_t>(a) + (isFirst ? step : -step))
      return fail("columns are turned together that are neither halves nor pairs");
    double cos = own->factor * column.cos.factor, sin = other->factor * column.sin.factor;
    if (cos != result.scale || std::abs(sin) != std::abs(cos))
      return fail("cosines and sines are scaled by different factors");

    std::optional<Angle> ofCos = matchAngle(column.cos.angle);
    std::optional<Angle> ofSin = ofCos ? matchAngle(column.sin.angle) : std::nullopt;
    if (!ofSin)
      return false;
    if (!ofCos->position || !ofSin->position)
      return fail("angles do not depend on a position");
    // The sine says which way it turns, and the cosine does not.
    double frequency = ofSin->frequency.factor;
    if ((sin < 0) != ((cos < 0) != isFirst))
      frequency = -frequency;
    Element load = ofSin->frequency.load;
    if (std::abs(ofCos->frequency.factor) != std::abs(frequency) ||
        static_cast<bool>(ofCos->frequency.load) != static_cast<bool>(load) ||
        (load && !elements.areEqual(ofCos->frequency.load, load)) ||
        !elements.areEqual(ofCos->position, ofSin->position))
      return fail("cosine and sine are of different angles");
    if (!result.position)
      result.position = ofSin->position;
    else if (!elements.areEqual(result.position, ofSin->position))
      return fail("columns are at different positions");
    RopeElements::Frequency &known = result.frequencies[pair];
    if (isFirst)
      known = {frequency, load};
    else if (known.factor != frequency ||
             static_cast<bool>(known.load) != static_cast<bool>(load) ||
             (load && !elements.areEqual(known.load, load)))
      return fail("the two columns of a pair turn by different angles");
  }
  result.input = input;
  return true;
}

/// Whether the columns after the first ones are those of the input.
bool RopeMatcher::matchRest(Value input, int64_t first) {
  for (int64_t column = first; column < type.getShape().back(); ++column) {
    std::optional<Source> source = findSource(loadColumn(column), input);
    if (!source || source->column != column || source->factor != 1)
      return fail("columns after those that are turned are not the input's own");
  }
  return true;
}

bool RopeMatcher::match(Value root) {
  tensor = root;
  type = cast<RankedTensorType>(root.getType());
  if (type.getRank() < 1 || type.isDynamicDim(type.getRank() - 1) ||
      type.getShape().back() < 2 || type.getShape().back() > kMaxWidth)
    return false;
  for (int64_t dim = 0; dim + 1 < type.getRank(); ++dim)
    result.dims.push_back(space.addDim(elements.getSize(root, dim)));

  std::optional<Column> first = matchColumn(loadColumn(0));
  if (!first) {
    if (isOfTables(loadColumn(0)))
      fail("its cosines and sines are not computed here");
    return false;
  }
  // Most tensors that come after an embedding are told by their first column.
  SmallVector<Source> sources = collectSources(first->cos.x);
  SmallVector<Source> others = collectSources(first->sin.x);
  llvm::erase_if(sources, [&](const Source &source) {
    return llvm::none_of(others,
                         [&](const Source &other) { return other.tensor == source.tensor; });
  });
  if (sources.empty())
    return fail("what is turned is no tensor of its shape and type");
  SmallVector<Column> columns = {*first};
  for (int64_t column = 1; column < type.getShape().back(); ++column) {
    std::optional<Column> matched = matchColumn(loadColumn(column));
    if (!matched)
      break;
    columns.push_back(*matched);
  }
  if (columns.size() % 2 != 0)
    return fail("an odd number of columns is turned");
  for (const Source &source : sources) {
    if (matchInput(source.tensor, columns) && matchRest(source.tensor, columns.size())) {
      why.reason.clear();
      return true;
    }
    result.position = nullptr;
  }
  return false;
}

std::optional<RopeElements> kvc::matchRope(Elements &elements, Value tensor,
                                           RaiseFailure &why) {
  RopeMatcher matcher(elements, why);
  if (!matcher.match(tensor))
    return std::nullopt;
  return std::move(matcher.result);
}
