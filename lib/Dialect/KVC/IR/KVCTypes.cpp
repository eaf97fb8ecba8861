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

bool isQuantized(Type elementType) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(elementType) || elementType.isInteger(8) ||
         elementType.isInteger(4);
}

double getLargestCode(Type elementType) {
  if (isa<Float8E4M3FNType>(elementType))
    return 448;
  if (isa<Float8E5M2Type>(elementType))
    return 57344;
  return elementType.isInteger(8) ? 127 : 7;
}

int64_t getScaleGroup(ComponentAttr component) {
  ScaleAttr scale = component.getScale();
  return scale && scale.getScheme() == ScaleScheme::Group ? scale.getGroup()
                                                          : component.getWidth();
}

int64_t getNumScales(ComponentAttr component) {
  ScaleAttr scale = component.getScale();
  if (!scale || scale.getConstant())
    return 0;
  return llvm::divideCeil(component.getWidth(), getScaleGroup(component));
}

Type CacheArray::getMemoryElement() const {
  return element.isInteger(4) ? IntegerType::get(element.getContext(), 8) : element;
}

//===----------------------------------------------------------------------===//
// ScaleAttr
//===----------------------------------------------------------------------===//

LogicalResult ScaleAttr::verify(function_ref<InFlightDiagnostic()> emitError, Type elementType,
                                ScaleScheme scheme, int64_t group, bool isStatic,
                                bool zeroPoint, FloatAttr constant) {
  // scale_c1
  if (!isa<Float32Type, Float16Type>(elementType))
    return emitError() << "expected scales of type f32 or f16, got " << elementType;
  // scale_c2
  if ((scheme == ScaleScheme::Tensor || scheme == ScaleScheme::Head) && !isStatic)
    return emitError() << "expected scales per " << stringifyScaleScheme(scheme)
                       << " to be static: an append may not change what the tokens before "
                          "it stand for";
  if (scheme == ScaleScheme::Token && isStatic)
    return emitError() << "expected scales per token to be computed at append, got static";
  // scale_c3
  if (scheme == ScaleScheme::Group && group != 32 && group != 64 && group != 128)
    return emitError() << "expected groups of 32, 64 or 128 elements, got " << group;
  if (scheme != ScaleScheme::Group && group != 0)
    return emitError() << "expected no group size of scales per "
                       << stringifyScaleScheme(scheme) << ", got " << group;
  // scale_c4
  if (!constant)
    return success();
  if (scheme != ScaleScheme::Tensor || zeroPoint)
    return emitError() << "expected a constant scale to be per tensor and without zero point";
  if (!constant.getType().isF32() || !constant.getValue().isFinite() ||
      !(constant.getValueAsDouble() > 0))
    return emitError() << "expected a constant scale that is finite and above 0 in f32, got "
                       << constant;
  return success();
}

/// scale<f32, group = 32, static, zero_point>
Attribute ScaleAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  Type elementType;
  ScaleScheme scheme = ScaleScheme::Token;
  int64_t group = 0;
  bool isStatic = false, zeroPoint = false;
  FloatAttr constant;
  if (parser.parseLess() || parser.parseType(elementType))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    SMLoc wordLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return {};
    if (word == "static") {
      isStatic = true;
      if (succeeded(parser.parseOptionalEqual())) {
        double value = 0;
        if (parser.parseFloat(value))
          return {};
        constant = parser.getBuilder().getF32FloatAttr(value);
      }
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
                                      isStatic, zeroPoint, constant);
}

void ScaleAttr::print(AsmPrinter &printer) const {
  printer << "<" << getElementType() << ", " << stringifyScaleScheme(getScheme());
  if (getScheme() == ScaleScheme::Group)
    printer << " = " << getGroup();
  if (getIsStatic())
    printer << ", static";
  if (FloatAttr constant = getConstant()) {
    printer << " = ";
    printer.printFloat(constant.getValue());
  }
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
  // component_c1
  bool isPlain = isa<Float32Type, Float16Type, BFloat16Type>(elementType);
  if (!isPlain && !isQuantized(elementType))
    return emitError() << "expected component '" << name.getValue()
                       << "' to have elements of f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or i4, "
                          "got "
                       << elementType;
  if (isPlain && scale)
    return emitError() << "expected no scales of component '" << name.getValue()
                       << "', whose elements are " << elementType;
  if (isa<IntegerType>(elementType) && !scale)
    return emitError() << "expected scale<...> of component '" << name.getValue()
                       << "', whose elements are " << elementType;
  // component_c2
  if (scale && scale.getZeroPoint() && !elementType.isInteger(4))
    return emitError() << "expected no zero point of component '" << name.getValue()
                       << "': it is for elements of i4, got " << elementType;
  // component_c3
  if (layout == Layout::LaneKey && isPlain)
    return emitError() << "expected elements of 8 or 4 bits of component '" << name.getValue()
                       << "' in layout lane_key, got " << elementType;
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
             << "expected layout 'row_major', 'packed_key', 'packed_value' or 'lane_key', got '"
             << word << "'";
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

/// The arrays of one component: its elements, scales and zero points.
static SmallVector<CacheArray> getComponentArrays(ComponentAttr component) {
  std::string name = component.getName().getValue().str();
  Type element = component.getElementType();
  int64_t pack = element.isInteger(4) ? 2 : 1;
  ScaleAttr scale = component.getScale();
  FloatAttr constant = scale ? scale.getConstant() : FloatAttr();
  SmallVector<CacheArray> arrays = {{name, component.getHeads(), component.getWidth() / pack,
                                     element, component.getLayout(), /*isStatic=*/false,
                                     constant ? constant.getValue().convertToFloat() : 0.0f}};
  int64_t numScales = getNumScales(component);
  if (numScales == 0)
    return arrays;
  int64_t heads = scale.getScheme() == ScaleScheme::Tensor ? 1 : component.getHeads();
  auto add = [&](StringRef suffix) {
    arrays.push_back({name + suffix.str(), heads, numScales, scale.getElementType(),
                      Layout::RowMajor, scale.getIsStatic(), 0.0f});
  };
  add(kScaleSuffix);
  if (scale.getZeroPoint())
    add(kZeroSuffix);
  return arrays;
}

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
  // cache_c6
  int64_t numArrays = 0;
  names.clear();
  for (ComponentAttr component : components)
    for (const CacheArray &array : getComponentArrays(component)) {
      ++numArrays;
      if (!names.insert(array.name).second)
        return emitError() << "expected distinct names of arrays, got '" << array.name
                           << "' twice";
      if (array.name.size() > kMaxNameLength)
        return emitError() << "expected a name of at most " << kMaxNameLength
                           << " characters for an array of component '"
                           << component.getName().getValue() << "', got '" << array.name << "'";
    }
  if (numArrays > static_cast<int64_t>(kMaxComponents))
    return emitError() << "expected at most " << kMaxComponents
                       << " arrays, scales and zero points included, got " << numArrays;
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
  for (const CacheArray &array : getArrays())
    if (!array.isStatic)
      bits += array.heads * array.width * array.getMemoryElement().getIntOrFloatBitWidth();
  return bits / 8;
}

SmallVector<CacheArray> CacheType::getArrays() const {
  SmallVector<CacheArray> arrays;
  for (ComponentAttr component : getComponents())
    llvm::append_range(arrays, getComponentArrays(component));
  return arrays;
}

int64_t CacheType::getArrayIndex(StringRef name) const {
  for (auto [index, array] : llvm::enumerate(getArrays()))
    if (array.name == name)
      return index;
  return -1;
}

} // namespace kvc
