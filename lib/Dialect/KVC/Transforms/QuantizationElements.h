//===- QuantizationElements.h - codes by their elements ---------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_QUANTIZATIONELEMENTS_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_QUANTIZATIONELEMENTS_H

#include "AttentionElements.h"

namespace kvc {

/// What may differ from the meaning of `#kvc.scale`.
struct QuantizationTolerance {
  bool reciprocal = false; ///< Products with a reciprocal.
  bool rounding = false;   ///< Those, and other roundings and guards.
};

/// Numbers that become codes, over the dimensions of a tensor. All elements are loads, or
/// scalars where said.
struct QuantizationElements {
  using Expr = mlir::AffineExpr;

  Element numbers = nullptr;
  unsigned width = 0;          ///< The dimension of the numbers that scales do not vary along.
  mlir::Type element, storage; ///< Of codes, and of tensors that hold them.
  ScaleAttr scale;             ///< Null if there is none.
  bool biased = false;
  Expr group; ///< Of groups along the width, the one that a number is in; else null.

  Element staticScale =
      nullptr; ///< A load or a scalar, if it is neither computed nor constant.
  /// Tensors that hold the scales, or zero points, that are computed.
  llvm::SmallVector<Element> scales = {}, zeros = {};
  Element divisor = nullptr; ///< What numbers are divided by.
};

/// Matches a code, of a tensor of `type`, or of numbers if that is a float of 16 bits or more.
/// `isSplit` says that the last two dimensions of the tensor are groups and their elements.
std::optional<QuantizationElements> matchQuantization(Elements &elements, Element code,
                                                      mlir::Type type, bool isSplit,
                                                      QuantizationTolerance tolerance,
                                                      RaiseFailure &why);

/// The tensor that a scale is read from, or the scalar that it is everywhere; one for which
/// `stop` holds, rather than what that is made of.
Element followScale(Elements &elements, Element scale,
                    llvm::function_ref<bool(mlir::Value)> stop = {});

/// Codes that become numbers.
struct DequantizationElements {
  /// The codes: a load of a tensor of them, or those of numbers.
  Element codes = nullptr;
  std::optional<QuantizationElements> quantization;

  Element scale = nullptr, zero = nullptr; ///< Loads, scalars or numbers; null if none.
};

std::optional<DequantizationElements> matchDequantization(Elements &elements, Element number,
                                                          mlir::Type type, bool isSplit,
                                                          QuantizationTolerance tolerance,
                                                          RaiseFailure &why);

/// Makes the operation that quantises, where its operands are known, puts its scales in the
/// place of the tensors that hold them, and returns it.
QuantizeOp buildQuantize(mlir::OpBuilder &b, Elements &elements,
                         const QuantizationElements &quantization);

/// The codes of `op` over the dimensions `dims`, before `user`. Null if sizes are not known.
mlir::Value buildCodes(mlir::OpBuilder &b, Elements &elements, QuantizeOp op,
                       const QuantizationElements &quantization,
                       llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Operation *user);

/// The numbers over `dims`, before `user`. Null, and the reason, if that is not possible.
mlir::Value buildDequantize(mlir::OpBuilder &b, Elements &elements,
                            const DequantizationElements &dequantization,
                            llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type elementType,
                            mlir::Operation *user, RaiseFailure &why);

/// Replaces quant.qcast and quant.dcast of a function, and says of those that stay why.
void raiseQuantCasts(mlir::func::FuncOp function, QuantizationTolerance tolerance,
                     llvm::function_ref<void(mlir::Location, const llvm::Twine &)> missed);

} // namespace kvc

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_QUANTIZATIONELEMENTS_H
