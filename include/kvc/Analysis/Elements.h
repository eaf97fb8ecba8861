//===- Elements.h - tensors element by element ------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one element of a tensor is, as an expression of elements of other tensors. So
// the many ways to spell a thing (reshapes, broadcasts, gathers, generics, named operations)
// become one, and what is computed can be matched by its mathematics.
//===----------------------------------------------------------------------===//
#ifndef KVC_ANALYSIS_ELEMENTS_H
#define KVC_ANALYSIS_ELEMENTS_H

#include "kvc/Analysis/IndexSpace.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <deque>

namespace kvc {

class DenseAttentionOp;
struct ElementNode;
/// An element of a tensor, or a scalar.
using Element = const ElementNode *;

enum class ElementKind {
  Load,        ///< The element of `tensor` at `indices`.
  Number,      ///< A constant.
  Index,       ///< The integer `index`; read from `tensor` at `indices`, if that is a position.
  NonNegative, ///< i1: whether `index` >= 0.
  Apply,       ///< The operation `name` of arith or math on `operands`.
  Reduce,      ///< `operands` [value, start], combined by `name` over all values of `dims`.
  Scalar, ///< Any other value, `tensor`, that is not a tensor and the same for all elements.
  Unknown ///< Something that may depend on everything, and equals itself only.
};

/// One node. Conversions between floating-point types do not show: rounding is left out,
/// unless it is asked for.
struct ElementNode {
  ElementKind kind;
  mlir::Value tensor = {};
  llvm::SmallVector<mlir::AffineExpr> indices = {};
  mlir::AffineExpr index = {};
  double number = 0;
  llvm::StringRef name = {};
  mlir::Attribute predicate = {}; ///< Of a comparison; the type of a conversion that shows.
  llvm::SmallVector<Element, 3> operands = {};
  llvm::SmallVector<mlir::AffineExpr> dims = {};
  int64_t size = 1; ///< Nodes of the tree.

  bool is(llvm::StringRef op) const { return kind == ElementKind::Apply && name == op; }
  bool isReduce(llvm::StringRef op) const { return kind == ElementKind::Reduce && name == op; }
  std::optional<double> getNumber() const;
};

/// Elements of the tensors of one function, whose body is one block.
class Elements {
public:
  using Expr = mlir::AffineExpr;

  /// With `showsRounding`, what is rounded to another type than f32 is an 'arith.truncf' to it,
  /// and conversions to integers of few bits show too.
  explicit Elements(mlir::func::FuncOp function, bool showsRounding = false);

  /// The size of a dimension, in symbols.
  Expr getSize(mlir::Value tensor, int64_t dim);
  llvm::SmallVector<Expr> getSizes(mlir::Value tensor);
  /// An integer that the function computes, in symbols.
  Expr getInteger(mlir::OpFoldResult value);
  /// An integer that is no tensor.
  Expr getScalar(mlir::Value value);

  Element load(mlir::Value tensor, llvm::ArrayRef<Expr> indices);
  Element number(double value);
  /// An operation of arith or math, folded where its operands say so.
  Element apply(llvm::StringRef name, llvm::ArrayRef<Element> operands,
                mlir::Attribute predicate = {});

  /// Lets as many loads be expanded as for something new. Then no more are, so that no tensor
  /// takes forever.
  void resetBudget() { numExpanded = 0; }
  /// Forgets all elements.
  void forgetElements() { nodes.clear(); }

  /// The element that a load stands for, by the operation that made the tensor: null where
  /// nothing is known of it, or too many were expanded already.
  Element expand(Element load);
  /// Goes back through operations that only move elements, or convert them, for as long as
  /// `stop` does not hold.
  Element followMoves(Element element, llvm::function_ref<bool(mlir::Value)> stop = {});
  /// `element`, expanded if it is a load of what is computed.
  Element resolve(Element element);

  /// The value of what is made of constants only.
  std::optional<double> evaluate(Element element);

  /// The same element with other expressions for some dimensions.
  Element replaceDims(Element element, const llvm::DenseMap<Expr, Expr> &replacements);
  bool areEqual(Element first, Element second);
  bool contains(Element element, Expr dim);
  /// For debugging.
  void print(llvm::raw_ostream &os, Element element);

  /// What a symbol is: a dimension of a tensor, or an integer, whose dimension is -1.
  std::pair<mlir::Value, int64_t> getOrigin(Expr symbol);

  /// Tokens that the caches hold before the function's own; null if it is not known.
  Expr getPast() const { return past; }

  IndexSpace &getSpace() { return space; }

private:
  friend class Expander;

  Element make(ElementNode node);
  Element makeApply(llvm::StringRef name, llvm::ArrayRef<Element> operands,
                    mlir::Attribute predicate);
  Expr addSymbol(mlir::Value value, int64_t dim = -1);
  Expr computeScalar(mlir::Value value);
  Expr computeSize(mlir::Value tensor, int64_t dim);
  Element applyToIndices(llvm::StringRef name, llvm::ArrayRef<Element> operands,
                         mlir::Attribute predicate);
  void findPast(mlir::func::FuncOp function);
  void learnSizes(mlir::func::FuncOp function);
  void learnSizes(DenseAttentionOp attention);

  IndexSpace space;
  bool showsRounding;
  std::deque<ElementNode> nodes; ///< Which stay where they are.
  unsigned numExpanded = 0;
  unsigned depth = 0; ///< Of sizes and scalars that are looked at because of one another.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, Expr> sizes;
  llvm::DenseMap<mlir::Value, Expr> scalars;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> origins; ///< Of symbols.
  Expr past; ///< Tokens before the new ones: see kPositionsName. Null if unknown.
};

} // namespace kvc

#endif // KVC_ANALYSIS_ELEMENTS_H
