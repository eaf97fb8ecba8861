//===- KVCDialect.cpp - registration of the kvc dialect -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "kvc/Dialect/KVC/IR/KVCDialect.cpp.inc"

#include "kvc/Dialect/KVC/IR/KVCEnums.cpp.inc"

#include "kvc/Dialect/KVC/IR/KVCInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "kvc/Dialect/KVC/IR/KVCAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "kvc/Dialect/KVC/IR/KVCTypes.cpp.inc"

namespace {
/// Operations mean the same in a function that calls theirs.
struct KVCInlinerInterface final : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const override { return true; }
};
} // namespace

namespace kvc {
void KVCDialect::initialize() {
  addInterfaces<KVCInlinerInterface>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "kvc/Dialect/KVC/IR/KVCAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "kvc/Dialect/KVC/IR/KVCTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kvc/Dialect/KVC/IR/KVCOps.cpp.inc"
      >();
}

/// True if `entry` describes a function as the conversions record it.
static bool isProgramFunction(Attribute entry) {
  auto fields = dyn_cast<DictionaryAttr>(entry);
  auto type = fields ? fields.getAs<TypeAttr>("type") : TypeAttr();
  return type && isa<FunctionType>(type.getValue()) &&
         llvm::all_of(ArrayRef<StringRef>{"name", "needs", "run"}, [&](StringRef name) {
           return fields.getAs<StringAttr>(name) != nullptr;
         });
}

LogicalResult KVCDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kTargetName) {
    if (!isa<ModuleOp>(op) || !isa<TargetAttr>(attribute.getValue()))
      return op->emitError("expected '")
             << kTargetName << "' to be a #kvc.target on a module, got "
             << attribute.getValue() << " on " << op->getName();
    return success();
  }
  if (attribute.getName() != "kvc.functions")
    return success();
  auto functions = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!functions || !llvm::all_of(functions, isProgramFunction))
    return op->emitError("expected 'kvc.functions' to be an array of {name, type, needs, "
                         "run}, got ")
           << attribute.getValue();
  return success();
}
} // namespace kvc
