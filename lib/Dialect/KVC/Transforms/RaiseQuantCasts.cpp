//===- RaiseQuantCasts.cpp - upstream's quantisation to codes -------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// quant.qcast leaves its roundings to whoever lowers it, so what `#kvc.scale` says of static
// scales is as good as any where the lowest and the highest code agree.
//===----------------------------------------------------------------------===//
#include "QuantizationElements.h"

#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"

#include <cmath>

using namespace mlir;
using namespace kvc;

namespace {
/// What a quantised type says, as a static scale.
struct CastForm {
  ScaleAttr scale;
  Type element;
  SmallVector<float> scales = {}; ///< One for each index of `axis`; none if it is constant.
  int64_t axis = 0;
};

class CastRaiser {
public:
  CastRaiser(func::FuncOp function, QuantizationTolerance tolerance,
             function_ref<void(Location, const Twine &)> missed)
      : function(function), tolerance(tolerance), missed(missed), b(function.getContext()) {}

  void raise();

private:
  std::optional<CastForm> getForm(Operation *op, Type quantized);
  SmallVector<Value> emitScales(Location loc, const CastForm &form, int64_t rank);
  void raiseQuantize(quant::QuantizeCastOp op);
  void raiseDequantize(quant::DequantizeCastOp op);

  func::FuncOp function;
  QuantizationTolerance tolerance;
  function_ref<void(Location, const Twine &)> missed;
  OpBuilder b;
};
} // namespace

std::optional<CastForm> CastRaiser::getForm(Operation *op, Type quantized) {
  auto fail = [&](const Twine &reason) {
    missed(op->getLoc(), reason);
    return std::nullopt;
  };
  auto tensor = dyn_cast<RankedTensorType>(quantized);
  auto type = tensor ? dyn_cast<quant::QuantizedType>(tensor.getElementType())
                     : quant::QuantizedType();
  if (!type || tensor.getRank() < 1 || tensor.isDynamicDim(tensor.getRank() - 1))
    return fail("expected a tensor of a uniform type with a static last dimension");
  Type element = type.getStorageType();
  if (!type.isSigned() || (!element.isInteger(8) && !element.isInteger(4)))
    return fail(llvm::formatv("expected signed storage of 8 or 4 bits, got {0}", element).str());
  auto largest = static_cast<int64_t>(getLargestCode(element));
  int64_t low = type.getStorageTypeMin(), high = type.getStorageTypeMax();
  if (high != largest || (low != -largest && !(tolerance.rounding && low == -largest - 1)))
    return fail("codes are clamped from " + Twine(low) + " to " + Twine(high) +
                ", and not from " + Twine(-largest) + " to " + Twine(largest));
  MLIRContext *context = op->getContext();
  auto f32 = Float32Type::get(context);
  auto isScale = [](double scale) {
    return scale > 0 && std::isfinite(static_cast<float>(scale)) &&
           static_cast<float>(scale) > 0;
  };
  CastForm form{ScaleAttr(), element};
  if (auto uniform = dyn_cast<quant::UniformQuantizedType>(type)) {
    if (uniform.getZeroPoint() != 0)
      return fail("it has a zero point");
    if (!isScale(uniform.getScale()))
      return fail("a constant scale is not above 0");
    form.scale = ScaleAttr::get(context, f32, ScaleScheme::Tensor, /*group=*/0,
                                /*isStatic=*/true, /*zeroPoint=*/false,
                                FloatAttr::get(f32, static_cast<float>(uniform.getScale())));
    return form;
  }
  auto axes = dyn_cast<quant::UniformQuantizedPerAxisType>(type);
  if (!axes)
    return fail("expected one scale, or one for each index of a dimension");
  form.axis = axes.getQuantizedDimension();
  if (form.axis + 1 >= tensor.getRank())
    return fail("scales vary along the width");
  if (llvm::any_of(axes.getZeroPoints(), [](int64_t zero) { return zero != 0; }))
    return fail("it has a zero point");
  if (!llvm::all_of(axes.getScales(), isScale))
    return fail("a constant scale is not above 0");
  for (double scale : axes.getScales())
    form.scales.push_back(static_cast<float>(scale));
  form.scale = ScaleAttr::get(context, f32, ScaleScheme::Head, /*group=*/0, /*isStatic=*/true,
                              /*zeroPoint=*/false, FloatAttr());
  return form;
}

/// The scales of a dimension as a constant.
SmallVector<Value> CastRaiser::emitScales(Location loc, const CastForm &form, int64_t rank) {
  if (form.scales.empty())
    return {};
  SmallVector<int64_t> shape(rank, 1);
  shape[form.axis] = form.scales.size();
  auto type = RankedTensorType::get(shape, b.getF32Type());
  return {arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, ArrayRef<float>(form.scales)))};
}

void CastRaiser::raiseQuantize(quant::QuantizeCastOp op) {
  Operation *other = nullptr;
  for (Operation *user : op.getResult().getUsers())
    if (!isa<quant::StorageCastOp, quant::DequantizeCastOp>(user))
      other = user;
  if (other) {
    missed(op.getLoc(), "expected 'quant.scast' before '" + other->getName().getStringRef() +
                            "' uses its codes");
    return;
  }
  auto input = dyn_cast<RankedTensorType>(op.getInput().getType());
  if (!input || !isa<Float32Type, Float16Type, BFloat16Type>(input.getElementType())) {
    missed(op.getLoc(), "expected a tensor of f32, f16 or bf16");
    return;
  }
  std::optional<CastForm> form = getForm(op, op.getResult().getType());
  if (!form)
    return;
  b.setInsertionPoint(op);
  SmallVector<Value> scales = emitScales(op.getLoc(), *form, input.getRank());
  auto codes = QuantizeOp::create(b, op.getLoc(), input.clone(form->element), op.getInput(),
                                  scales, form->element, form->scale, /*biased=*/false);
  for (Operation *user : llvm::make_early_inc_range(op.getResult().getUsers())) {
    if (auto dequantize = dyn_cast<quant::DequantizeCastOp>(user)) {
      b.setInsertionPoint(dequantize);
      Value numbers = DequantizeOp::create(b, dequantize.getLoc(),
                                           dequantize.getResult().getType(), codes.getCodes(),
                                           scales, form->element, form->scale);
      dequantize.getResult().replaceAllUsesWith(numbers);
    } else {
      Value stored = user->getResult(0);
      stored.replaceAllUsesWith(codes.getCodes());
    }
    user->erase();
  }
  op.erase();
}

void CastRaiser::raiseDequantize(quant::DequantizeCastOp op) {
  auto stored = op.getInput().getDefiningOp<quant::StorageCastOp>();
  if (!stored) {
    missed(op.getLoc(), "expected 'quant.scast' of a tensor of integers before it");
    return;
  }
  auto result = dyn_cast<RankedTensorType>(op.getResult().getType());
  if (!result || !isa<Float32Type, Float16Type, BFloat16Type>(result.getElementType())) {
    missed(op.getLoc(), "expected a tensor of f32, f16 or bf16");
    return;
  }
  std::optional<CastForm> form = getForm(op, op.getInput().getType());
  if (!form)
    return;
  b.setInsertionPoint(op);
  SmallVector<Value> scales = emitScales(op.getLoc(), *form, result.getRank());
  Value numbers = DequantizeOp::create(b, op.getLoc(), result, stored.getInput(), scales,
                                       form->element, form->scale);
  op.getResult().replaceAllUsesWith(numbers);
  op.erase();
  if (stored->use_empty())
    stored.erase();
}

void CastRaiser::raise() {
  Block &body = function.getBody().front();
  for (auto op : llvm::to_vector(body.getOps<quant::QuantizeCastOp>()))
    raiseQuantize(op);
  for (auto op : llvm::to_vector(body.getOps<quant::DequantizeCastOp>()))
    raiseDequantize(op);
}

void kvc::raiseQuantCasts(func::FuncOp function, QuantizationTolerance tolerance,
                          function_ref<void(Location, const Twine &)> missed) {
  CastRaiser(function, tolerance, missed).raise();
}
