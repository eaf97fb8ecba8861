//===- WrittenBytes.cpp - what caches took as written ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "WrittenBytes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kvc;

std::optional<int64_t> kvc::getWrittenBytes(ModuleOp module, StringRef cache) {
  auto all = module->getAttrOfType<DictionaryAttr>(kWrittenBytesName);
  auto bytes = all ? all.getAs<IntegerAttr>(cache) : IntegerAttr();
  // Anything may be written in a module.
  if (!bytes || !bytes.getType().isSignlessInteger(64) || bytes.getInt() < 0)
    return std::nullopt;
  return bytes.getInt();
}

void kvc::setWrittenBytes(ModuleOp module, ArrayRef<StringRef> former, StringRef cache,
                          int64_t bytes) {
  NamedAttrList all(module->getAttrOfType<DictionaryAttr>(kWrittenBytesName));
  for (StringRef name : former)
    all.erase(name);
  Builder b(module.getContext());
  all.set(cache, b.getI64IntegerAttr(bytes));
  module->setAttr(kWrittenBytesName, all.getDictionary(module.getContext()));
}
