//===- ConditionTexts.cpp - messages of broken conditions -----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ConditionTexts.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

/// Adds a constant to the module of `symbols`; returns its address.
static Value createData(OpBuilder &b, Location loc, SymbolTable &symbols, StringRef name,
                        Type type, Attribute data) {
  LLVM::GlobalOp global;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&symbols.getOp()->getRegion(0).front());
    global = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                    name, data);
    symbols.insert(global); // which makes the name unique
  }
  return LLVM::AddressOfOp::create(b, loc, global);
}

Value kvc::emitConditionText(OpBuilder &b, Location loc, SymbolTable &symbols,
                             StringRef function, ArrayAttr conditions, Value number) {
  // Texts one after the other, and where each begins.
  std::string texts;
  SmallVector<int32_t> places;
  for (StringRef text : conditions.getAsValueRange<StringAttr>()) {
    places.push_back(texts.size());
    texts += ("in '" + function + "': " + text).str();
    texts.push_back('\0');
  }
  Value text = createData(b, loc, symbols, "kvc.conditions",
                          LLVM::LLVMArrayType::get(b.getI8Type(), texts.size()),
                          b.getStringAttr(texts));
  Value table = createData(b, loc, symbols, "kvc.condition_places",
                           LLVM::LLVMArrayType::get(b.getI32Type(), places.size()),
                           b.getI32TensorAttr(places));
  Type ptr = LLVM::LLVMPointerType::get(b.getContext());
  Value one = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(1));
  Value index = LLVM::SubOp::create(b, loc, number, one);
  Value entry = LLVM::GEPOp::create(b, loc, ptr, b.getI32Type(), table,
                                    ArrayRef<LLVM::GEPArg>{index});
  Value place = LLVM::LoadOp::create(b, loc, b.getI32Type(), entry);
  return LLVM::GEPOp::create(b, loc, ptr, b.getI8Type(), text, ArrayRef<LLVM::GEPArg>{place});
}
