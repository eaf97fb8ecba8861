//===- KVCTypes.cpp - cache types and their components --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVC/IR/KVC.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace kvc {

/// Widest row that a component may have, in elements.
static constexpr int64_t kMaxWidth = 576;
/// Limits of the runtime's structures: see kvc_cache_type_t.
static constexpr size_t kMaxComponents = 8;
static constexpr size_t kMaxNameLength = 15;

int64_t getPackedPair(Type elementType) { return elementType.isBF16() ? 2 : 1; }

//===----------------------------------------------------------------------===//
// ScaleAttr
//===----------------------------------------------------------------------===//

LogicalResult ScaleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                Type elementType, ScaleScheme scheme, int64_t group,
                                bool isStatic, bool zeroPoint) {
  if (!isa<Float32Type, Float16Type, BFloat16Type>(elementType))
    return emitError() << "expected scales of type f32, f16 or bf16, got " << elementType;
  if ((scheme == ScaleScheme::Group) != (group > 0))
    return emitError() << "expected a group size of at least 1, got " << group;
  return success();
}

/// scale<f32, token, static, zero_point>
Attribute ScaleAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  Type elementType;
  ScaleScheme scheme = ScaleScheme::Token;
  int64_t group = 0;
  bool isStatic = false, zeroPoint = false;
  if (parser.parseLess() || parser.parseType(elementType))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    SMLoc wordLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return {};
    if (word == "static") {
      isStatic = true;
    } else if (word == "zero_point") {
      zeroPoint = true;
    } else if (std::optional<ScaleScheme> parsed = symbolizeScaleScheme(word)) {
      scheme = *parsed;
      if (scheme == ScaleScheme::Group &&
          (parser.parseEqual() || parser.parseInteger(group)))
        return {};
    } else {
      parser.emitError(wordLoc) << "expected 'tensor', 'head', 'token', 'group', "
                                   "'static' or 'zero_point', got '"
                                << word << "'";
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ScaleAttr>(loc, parser.getContext(), elementType, scheme, group,
                                      isStatic, zeroPoint);
}

void ScaleAttr::print(AsmPrinter &printer) const {
  printer << "<" << getElementType() << ", " << stringifyScaleScheme(getScheme());
  if (getScheme() == ScaleScheme::Group)
    printer << " = " << getGroup();
  if (getIsStatic())
    printer << ", static";
  if (getZeroPoint())
    printer << ", zero_point";
  printer << ">";
}

//===----------------------------------------------------------------------===//
// ComponentAttr
//===----------------------------------------------------------------------===//

LogicalResult ComponentAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                    StringAttr name, int64_t heads, int64_t width,
                                    Type elementType, Layout layout, ScaleAttr scale) {
  // cache_c2
  if (name.empty() || name.size() > kMaxNameLength)
    return emitError() << "expected a component name of 1 to " << kMaxNameLength
                       << " characters, got '" << name.getValue() << "'";
  if (name.getValue().contains('\0'))
    return emitError() << "expected a component name without NUL, got "
                       << static_cast<Attribute>(name);
  // cache_c3
  if (heads < 1)
    return emitError() << "expected component '" << name.getValue()
                       << "' to have at least 1 head, got " << heads;
  if (heads > INT32_MAX)
    return emitError() << "expected component '" << name.getValue() << "' to have at most "
                       << INT32_MAX << " heads, got " << heads;
  if (width < 8 || width % 8 != 0 || width > kMaxWidth)
    return emitError() << "expected component '" << name.getValue()
                       << "' to have a width that is a multiple of 8 from 8 to " << kMaxWidth
                       << ", got " << width;
  // cache_c4
  if (scale)
    return emitError() << "scales of component '" << name.getValue()
                       << "' are not supported yet: expected no scale<...>";
  if (!isa<Float32Type, Float16Type, BFloat16Type>(elementType))
    return emitError() << "element type " << elementType << " of component '"
                       << name.getValue()
                       << "' is not supported yet: expected f32, f16 or bf16";
  return success();
}

/// k: 8x128xbf16 layout<packed_key> scale<f32, token>
static FailureOr<ComponentAttr> parseComponent(AsmParser &parser) {
  std::string name;
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> dims;
  Type elementType;
  if (parser.parseKeywordOrString(&name) || parser.parseColon())
    return failure();
  SMLoc dimsLoc = parser.getCurrentLocation();
  if (parser.parseDimensionList(dims, /*allowDynamic=*/false) ||
      parser.parseType(elementType))
    return failure();
  if (dims.size() != 2)
    return parser.emitError(dimsLoc)
           << "expected component '" << name << "' to be heads x width x element, got "
           << dims.size() << " dimensions";
  Layout layout = Layout::RowMajor;
  if (succeeded(parser.parseOptionalKeyword("layout"))) {
    StringRef word;
    if (parser.parseLess())
      return failure();
    SMLoc wordLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    std::optional<Layout> parsed = symbolizeLayout(word);
    if (!parsed)
      return parser.emitError(wordLoc)
             << "expected layout 'row_major', 'packed_key' or 'packed_value', got '" << word
             << "'";
    layout = *parsed;
    if (parser.parseGreater())
      return failure();
  }
  ScaleAttr scale;
  if (succeeded(parser.parseOptionalKeyword("scale"))) {
    scale = dyn_cast_or_null<ScaleAttr>(ScaleAttr::parse(parser, Type()));
    if (!scale)
      return failure();
  }
  auto component = parser.getChecked<ComponentAttr>(
      loc, parser.getContext(), StringAttr::get(parser.getContext(), name), dims[0], dims[1],
      elementType, layout, scale);
  if (!component)
    return failure();
  return component;
}

static void printComponent(AsmPrinter &printer, ComponentAttr component) {
  printer.printKeywordOrString(component.getName().getValue());
  printer << ": " << component.getHeads() << "x" << component.getWidth() << "x"
          << component.getElementType();
  if (component.getLayout() != Layout::RowMajor)
    printer << " layout<" << stringifyLayout(component.getLayout()) << ">";
  if (ScaleAttr scale = component.getScale()) {
    printer << " scale";
    scale.print(printer);
  }
}

Attribute ComponentAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<ComponentAttr> component = parseComponent(parser);
  if (failed(component) || parser.parseGreater())
    return {};
  return *component;
}

void ComponentAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printComponent(printer, *this);
  printer << ">";
}

//===----------------------------------------------------------------------===//
// CacheType
//===----------------------------------------------------------------------===//

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t pageSize, ArrayRef<ComponentAttr> components) {
  // cache_c1
  if (pageSize < 1)
    return emitError() << "expected page size to be at least 1, got " << pageSize;
  if (pageSize > INT32_MAX)
    return emitError() << "expected page size to be at most " << INT32_MAX << ", got "
                       << pageSize;
  // cache_c2
  if (components.empty() || components.size() > kMaxComponents)
    return emitError() << "expected 1 to " << kMaxComponents << " components, got "
                       << components.size();
  llvm::StringSet<> names;
  for (ComponentAttr component : components) {
    if (!names.insert(component.getName().getValue()).second)
      return emitError() << "expected distinct component names, got '"
                         << component.getName().getValue() << "' twice";
    // cache_c5
    if (component.getLayout() != Layout::RowMajor && pageSize % kPackedTokens != 0)
      return emitError() << "expected page size to be a multiple of " << kPackedTokens
                         << " for layout " << stringifyLayout(component.getLayout())
                         << " of component '" << component.getName().getValue() << "', got "
                         << pageSize;
  }
  return success();
}

Type CacheType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t pageSize = 0;
  SmallVector<ComponentAttr> components;
  if (parser.parseLess() || parser.parseKeyword("page") || parser.parseEqual() ||
      parser.parseInteger(pageSize))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    FailureOr<ComponentAttr> component = parseComponent(parser);
    if (failed(component))
      return {};
    components.push_back(*component);
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<CacheType>(loc, parser.getContext(), pageSize,
                                      ArrayRef<ComponentAttr>(components));
}

void CacheType::print(AsmPrinter &printer) const {
  printer << "<page = " << getPageSize();
  for (ComponentAttr component : getComponents()) {
    printer << ", ";
    printComponent(printer, component);
  }
  printer << ">";
}

int64_t CacheType::getComponentIndex(StringRef name) const {
  for (auto [index, component] : llvm::enumerate(getComponents()))
    if (component.getName().getValue() == name)
      return index;
  return -1;
}

ComponentAttr CacheType::getComponent(StringRef name) const {
  int64_t index = getComponentIndex(name);
  return index < 0 ? ComponentAttr() : getComponents()[index];
}

int64_t CacheType::getBytesPerToken() const {
  int64_t bits = 0;
  for (ComponentAttr component : getComponents())
    bits += component.getHeads() * component.getWidth() *
            component.getElementType().getIntOrFloatBitWidth();
  return bits / 8;
}

} // namespace kvc
