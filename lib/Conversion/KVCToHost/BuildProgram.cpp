//===- BuildProgram.cpp - the descriptor and symbol of a program ----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds what makes a module in the LLVM dialect a program of kvc-rt/abi.h: the
// flat descriptor, the table of entry points, and the one exported symbol.
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/HostEntries.h"
#include "kvc/Conversion/Passes.h"
#include "kvc/Dialect/KVC/IR/KVC.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "kvc-build-program"

namespace kvc {
#define GEN_PASS_DEF_BUILDPROGRAMPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

static constexpr StringLiteral kBlobSymbol = "kvc.blob";
static constexpr StringLiteral kEntriesSymbol = "kvc.entries";
static constexpr StringLiteral kProgramGlobalSymbol = "kvc.program_table";
static constexpr int64_t kBlobAlignment = 8;

//===----------------------------------------------------------------------===//
// The blob
//===----------------------------------------------------------------------===//

namespace {
/// Collects structures in one array of bytes, each at a multiple of its
/// alignment, and hands out their offsets.
class BlobWriter {
public:
  /// Makes room for `count` zeroed elements of T and returns their offset.
  template <typename T>
  kvc_offset_t reserve(size_t count) {
    static_assert(alignof(T) <= kBlobAlignment, "blob aligned to less than T");
    size_t offset = llvm::alignTo(bytes.size(), alignof(T));
    bytes.resize(offset + count * sizeof(T));
    return static_cast<kvc_offset_t>(offset);
  }

  /// Overwrites element `index` of the array at `offset`.
  template <typename T>
  void set(kvc_offset_t offset, size_t index, const T &value) {
    assert(offset + (index + 1) * sizeof(T) <= bytes.size() && "outside the blob");
    std::memcpy(bytes.data() + offset + index * sizeof(T), &value, sizeof(T));
  }

  template <typename T>
  kvc_offset_t append(ArrayRef<T> values) {
    kvc_offset_t offset = reserve<T>(values.size());
    for (auto [index, value] : llvm::enumerate(values))
      set(offset, index, value);
    return offset;
  }

  /// Appends `text` and a NUL.
  kvc_offset_t appendString(StringRef text) {
    kvc_offset_t offset = append(ArrayRef<char>(text.data(), text.size()));
    bytes.push_back('\0');
    return offset;
  }

  /// True if every offset handed out so far fits its 32 bits.
  bool fits() const { return bytes.size() <= UINT32_MAX; }
  StringRef getBytes() const { return bytes; }

private:
  std::string bytes;
};

/// Describes a module's functions.
class Descriptor {
public:
  /// Adds `function`; an argument or a result without a place in the ABI is an
  /// error at `loc`.
  LogicalResult addFunction(Location loc, const ProgramFunction &function);

  /// Adds the device code, and the kernels in it.
  void addImage(const ProgramImage &image, ArrayRef<ProgramKernel> kernels);

  /// Lays out the blob; an error at `loc` if it is too large.
  FailureOr<std::string> build(Location loc, StringRef target) const;

private:
  struct Function {
    StringRef name;
    uint32_t numInputs;
    uint32_t maxQueryLen;
    SmallVector<kvc_arg_desc_t> args;
  };

  FailureOr<kvc_arg_desc_t> describe(Type type, bool isResult,
                                     function_ref<InFlightDiagnostic()> emitError);

  SmallVector<Function> functions;
  llvm::MapVector<CacheType, uint32_t> cacheTypes;
  SmallVector<ProgramImage> images;
  SmallVector<ProgramKernel> kernels; ///< Of image 0.
};
} // namespace

/// Fills in shape and element type; a note of failure goes to `emitError`.
static LogicalResult describeShape(ShapedType type, kvc_arg_desc_t &desc,
                                   function_ref<InFlightDiagnostic()> emitError) {
  if (type.getRank() > KVC_MAX_RANK)
    return emitError() << "expected a rank of at most " << KVC_MAX_RANK << ", got "
                       << type.getRank() << " in " << type;
  desc.kind = KVC_ARG_TENSOR;
  desc.rank = static_cast<int32_t>(type.getRank());
  desc.dtype = getABIDtype(type.getElementType());
  if (desc.dtype == 0)
    return emitError() << "expected elements of f64, f32, f16, bf16, f8E4M3FN, f8E5M2, "
                          "i1, i4, i8, i32 or i64, got "
                       << type.getElementType() << " in " << type;
  for (auto [out, size] : llvm::zip(desc.shape, type.getShape()))
    out = ShapedType::isDynamic(size) ? KVC_DYNAMIC : size;
  return success();
}

static LogicalResult describeMemRef(MemRefType type, kvc_arg_desc_t &desc,
                                    function_ref<InFlightDiagnostic()> emitError) {
  if (failed(describeShape(type, desc, emitError)))
    return failure();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return emitError() << "expected a layout with strides, got " << type;
  // An address takes in every offset but one that the code was compiled for.
  if (!ShapedType::isDynamic(offset) && offset != 0)
    return emitError() << "expected an offset of 0 or '?', got " << offset << " in " << type;
  for (auto [out, stride] : llvm::zip(desc.strides, strides))
    out = ShapedType::isDynamic(stride) ? KVC_DYNAMIC : stride;
  return success();
}

FailureOr<kvc_arg_desc_t>
Descriptor::describe(Type type, bool isResult,
                     function_ref<InFlightDiagnostic()> emitError) {
  kvc_arg_desc_t desc = {};
  desc.is_result = isResult;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    if (failed(describeShape(tensor, desc, emitError)))
      return failure();
    std::fill_n(desc.strides, desc.rank, KVC_DYNAMIC);
    if (desc.rank > 0)
      desc.strides[desc.rank - 1] = 1;
    return desc;
  }
  if (auto memref = dyn_cast<MemRefType>(type); memref && !isResult) {
    if (failed(describeMemRef(memref, desc, emitError)))
      return failure();
    return desc;
  }
  if (auto cache = dyn_cast<CacheType>(type); cache && !isResult) {
    desc.kind = KVC_ARG_CACHE;
    desc.cache_type =
        cacheTypes.insert({cache, static_cast<uint32_t>(cacheTypes.size())}).first->second;
    return desc;
  }
  if (isa<BatchType>(type) && !isResult) {
    desc.kind = KVC_ARG_BATCH;
    return desc;
  }
  StringRef expected =
      isResult ? "a ranked tensor" : "a ranked tensor or memref, a cache or a batch";
  return emitError() << "expected " << expected << ", got " << type;
}

/// True if dimension 0 of `type` is the number of tokens of the function's batch.
/// The types alone tell: queries, keys, values, outputs and log-sum-exps are
/// [tokens, heads] or [tokens, heads, width]; an append's count is [tokens].
static bool hasTokenRows(Type type, bool isResult) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && isResult && tensor.getRank() == 1)
    return tensor.isDynamicDim(0) && tensor.getElementType().isInteger(32);
  return tensor && (tensor.getRank() == 2 || tensor.getRank() == 3) &&
         tensor.isDynamicDim(0) && isa<FloatType>(tensor.getElementType());
}

LogicalResult Descriptor::addFunction(Location loc, const ProgramFunction &function) {
  if (function.name.contains('\0'))
    return emitError(loc) << "expected names of functions without NUL";
  for (const Function &other : functions)
    if (other.name == function.name)
      return emitError(loc) << "expected different names of functions, got '"
                            << function.name << "' twice";
  ArrayRef<Type> inputs = function.type.getInputs();
  bool hasOneBatch = llvm::count_if(inputs, llvm::IsaPred<BatchType>) == 1;
  size_t numArgs = inputs.size() + function.type.getNumResults();
  if (!function.alignments.empty() && function.alignments.size() != numArgs)
    return emitError(loc) << "function '" << function.name << "': expected alignments of "
                          << numArgs << " arguments and results, got "
                          << function.alignments.size();
  if (!function.tokenRows.empty() && function.tokenRows.size() != numArgs)
    return emitError(loc) << "function '" << function.name << "': expected token_rows of "
                          << numArgs << " arguments and results, got "
                          << function.tokenRows.size();
  Function out = {function.name, static_cast<uint32_t>(inputs.size()),
                  static_cast<uint32_t>(function.maxQueryLen), {}};

  auto add = [&](Type type, bool isResult, size_t index) -> LogicalResult {
    auto emit = [&] {
      return emitError(loc) << "function '" << function.name << "', "
                            << (isResult ? "result " : "argument ") << index << ": ";
    };
    FailureOr<kvc_arg_desc_t> desc = describe(type, isResult, emit);
    if (failed(desc))
      return failure();
    desc->rows_are_tokens = function.tokenRows.empty() ? hasOneBatch && hasTokenRows(type, isResult)
                                                       : function.tokenRows[out.args.size()];
    if (!function.alignments.empty())
      desc->alignment = function.alignments[out.args.size()];
    out.args.push_back(*desc);
    return success();
  };
  for (auto [index, type] : llvm::enumerate(inputs))
    if (failed(add(type, /*isResult=*/false, index)))
      return failure();
  for (auto [index, type] : llvm::enumerate(function.type.getResults()))
    if (failed(add(type, /*isResult=*/true, index)))
      return failure();
  functions.push_back(std::move(out));
  return success();
}

void Descriptor::addImage(const ProgramImage &image, ArrayRef<ProgramKernel> kernels) {
  images.push_back(image);
  this->kernels.append(kernels.begin(), kernels.end());
}

FailureOr<std::string> Descriptor::build(Location loc, StringRef target) const {
  BlobWriter writer;
  kvc_blob_t blob = {};
  kvc_offset_t header = writer.reserve<kvc_blob_t>(1);
  blob.magic = KVC_BLOB_MAGIC;
  blob.abi_version = KVC_ABI_VERSION;
  blob.num_functions = functions.size();
  blob.functions = writer.reserve<kvc_function_desc_t>(functions.size());
  blob.num_cache_types = cacheTypes.size();
  blob.cache_types = writer.reserve<kvc_cache_type_t>(cacheTypes.size());
  for (auto [type, index] : cacheTypes)
    writer.set(blob.cache_types, index, getABICacheType(type));
  for (auto [index, function] : llvm::enumerate(functions)) {
    kvc_function_desc_t desc = {};
    desc.num_inputs = function.numInputs;
    desc.num_args = function.args.size();
    desc.max_query_len = function.maxQueryLen;
    desc.args = writer.append(ArrayRef<kvc_arg_desc_t>(function.args));
    desc.name = writer.appendString(function.name);
    writer.set(blob.functions, index, desc);
  }
  blob.num_images = images.size();
  blob.num_kernels = kernels.size();
  if (!images.empty()) {
    blob.images = writer.reserve<kvc_image_desc_t>(images.size());
    blob.kernels = writer.reserve<kvc_kernel_desc_t>(kernels.size());
  }
  for (auto [index, kernel] : llvm::enumerate(kernels)) {
    kvc_kernel_desc_t desc = {};
    desc.name = writer.appendString(kernel.name);
    desc.threads = kernel.threads;
    desc.shared_bytes = kernel.sharedBytes;
    writer.set(blob.kernels, index, desc);
  }
  blob.target = writer.appendString(target);
  for (auto [index, image] : llvm::enumerate(images)) {
    kvc_image_desc_t desc = {};
    desc.target = writer.appendString(image.target);
    desc.data = writer.appendString(image.data);
    desc.data_size = image.data.size() + 1;
    writer.set(blob.images, index, desc);
  }
  blob.size = writer.getBytes().size();
  if (!writer.fits())
    return emitError(loc) << "expected a descriptor of at most " << UINT32_MAX
                          << " bytes, got " << writer.getBytes().size();
  writer.set(header, 0, blob);
  return writer.getBytes().str();
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

bool kvc::isProgramName(StringRef name) {
  return name.empty() ||
         (!llvm::isDigit(name[0]) &&
          llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; }));
}

std::string kvc::getQuerySymbol(StringRef programName) {
  return (programName.empty() ? "kvc" : programName).str() + "_program_query";
}

/// Checks that the module defines `symbol` as a function of three pointers that
/// returns an i32.
static LogicalResult checkEntry(ModuleOp module, const ProgramFunction &function,
                                StringRef symbol) {
  auto emit = [&](Location loc) {
    return emitError(loc) << "function '" << function.name << "': ";
  };
  Operation *op = module.lookupSymbol(symbol);
  if (!op)
    return emit(module.getLoc()) << "expected an entry point called '" << symbol
                                 << "', found none";
  auto ptr = LLVM::LLVMPointerType::get(module.getContext());
  auto type = LLVM::LLVMFunctionType::get(IntegerType::get(module.getContext(), 32),
                                          SmallVector<Type>(3, ptr));
  auto entry = dyn_cast<LLVM::LLVMFuncOp>(op);
  if (!entry || entry.isExternal() || entry.getFunctionType() != type)
    return emit(op->getLoc()) << "expected entry point '" << symbol
                              << "' to be a defined llvm.func of type " << type;
  return success();
}

/// Makes what the module defines invisible outside.
static void makePrivate(ModuleOp module) {
  for (Operation &op : module.getOps()) {
    if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op)) {
      if (!function.isExternal())
        function.setLinkage(LLVM::Linkage::Internal);
    } else if (auto global = dyn_cast<LLVM::GlobalOp>(op)) {
      if (global.getValueAttr() || global.getInitializerBlock())
        global.setLinkage(LLVM::Linkage::Internal);
    }
  }
}

/// Creates a constant whose value `buildValue` returns.
static LLVM::GlobalOp createConstant(OpBuilder &b, Location loc, Type type, StringRef name,
                                     function_ref<Value()> buildValue) {
  auto global = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true,
                                       LLVM::Linkage::Internal, name, Attribute(),
                                       kBlobAlignment);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&global.getInitializerRegion());
  LLVM::ReturnOp::create(b, loc, buildValue());
  return global;
}

/// Creates the kvc_program_t and what it points to.
static LLVM::GlobalOp createProgramTable(OpBuilder &b, Location loc,
                                         ArrayRef<ProgramFunction> functions,
                                         StringRef blob) {
  MLIRContext *context = b.getContext();
  Type ptr = LLVM::LLVMPointerType::get(context);
  auto addressOf = [&](StringRef symbol) -> Value {
    return LLVM::AddressOfOp::create(b, loc, ptr, symbol);
  };
  auto insert = [&](Value container, Value value, ArrayRef<int64_t> position) -> Value {
    return LLVM::InsertValueOp::create(b, loc, container, value, position);
  };
  auto i32 = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  };

  LLVM::GlobalOp::create(b, loc, LLVM::LLVMArrayType::get(b.getI8Type(), blob.size()),
                         /*isConstant=*/true, LLVM::Linkage::Internal, kBlobSymbol,
                         b.getStringAttr(blob), kBlobAlignment);
  auto entryType = LLVM::LLVMStructType::getLiteral(context, {ptr, ptr, ptr});
  auto entriesType = LLVM::LLVMArrayType::get(entryType, functions.size());
  createConstant(b, loc, entriesType, kEntriesSymbol, [&] {
    Value entries = LLVM::PoisonOp::create(b, loc, entriesType);
    for (auto [index, function] : llvm::enumerate(functions)) {
      int64_t i = index;
      entries = insert(entries, addressOf(function.needs), {i, 0});
      entries = insert(entries, addressOf(function.run), {i, 1});
      Value shapes = function.shapes.empty() ? LLVM::ZeroOp::create(b, loc, ptr).getResult()
                                             : addressOf(function.shapes);
      entries = insert(entries, shapes, {i, 2});
    }
    return entries;
  });
  auto programType = LLVM::LLVMStructType::getLiteral(
      context, {b.getI32Type(), b.getI32Type(), ptr, ptr});
  return createConstant(b, loc, programType, kProgramGlobalSymbol, [&] {
    Value program = LLVM::PoisonOp::create(b, loc, programType);
    program = insert(program, i32(sizeof(kvc_program_t)), 0);
    program = insert(program, i32(KVC_ABI_VERSION), 1);
    program = insert(program, addressOf(kBlobSymbol), 2);
    return insert(program, addressOf(kEntriesSymbol), 3);
  });
}

/// Creates a function and returns it with the builder in its entry block.
static LLVM::LLVMFuncOp createFunction(OpBuilder &b, Location loc, StringRef name,
                                       ArrayRef<Type> inputs, LLVM::Linkage linkage) {
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMPointerType::get(b.getContext()), inputs);
  auto function = LLVM::LLVMFuncOp::create(b, loc, name, type, linkage);
  b.setInsertionPointToStart(function.addEntryBlock(b));
  return function;
}

namespace {
struct BuildProgramPass final : kvc::impl::BuildProgramPassBase<BuildProgramPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult check(ArrayRef<ProgramFunction> functions, StringRef query);
};
} // namespace

LogicalResult BuildProgramPass::check(ArrayRef<ProgramFunction> functions, StringRef query) {
  ModuleOp module = getOperation();
  if (!isProgramName(programName))
    return module.emitError("expected program-name to be a C identifier, got '")
           << programName << "'";
  if (functions.empty())
    return module.emitError("expected at least one public function of kvc operations, "
                            "found none");
  for (StringRef symbol :
       {query, StringRef(kBlobSymbol), StringRef(kEntriesSymbol), StringRef(kProgramGlobalSymbol)})
    if (Operation *op = module.lookupSymbol(symbol))
      return op->emitError("symbol '") << symbol << "' is reserved for the program";
  for (const ProgramFunction &function : functions)
    if (failed(checkEntry(module, function, function.needs)) ||
        failed(checkEntry(module, function, function.run)) ||
        (!function.shapes.empty() && failed(checkEntry(module, function, function.shapes))))
      return failure();
  return success();
}

void BuildProgramPass::runOnOperation() {
  ModuleOp module = getOperation();
  Location loc = module.getLoc();
  SmallVector<ProgramFunction> functions = getProgramFunctions(module);
  std::string query = getQuerySymbol(programName);
  if (failed(check(functions, query)))
    return signalPassFailure();

  Descriptor descriptor;
  for (const ProgramFunction &function : functions)
    if (failed(descriptor.addFunction(module.lookupSymbol(function.run)->getLoc(), function)))
      return signalPassFailure();
  std::optional<ProgramImage> image = getProgramImage(module);
  SmallVector<ProgramKernel> kernels = getProgramKernels(module);
  if (!image && !kernels.empty()) {
    module.emitError("expected an image with the ")
        << kernels.size() << " kernels of the program, found none";
    return signalPassFailure();
  }
  if (image)
    descriptor.addImage(*image, kernels);
  FailureOr<std::string> blob = descriptor.build(loc, target);
  if (failed(blob))
    return signalPassFailure();

  // Other passes may have declared it in order to call it.
  if (Operation *declared = module.lookupSymbol(kProgramSymbol))
    declared->erase();
  makePrivate(module);

  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  LLVM::GlobalOp table = createProgramTable(b, loc, functions, *blob);
  createFunction(b, loc, kProgramSymbol, {}, LLVM::Linkage::Internal);
  LLVM::ReturnOp::create(b, loc, LLVM::AddressOfOp::create(b, loc, table));

  b.setInsertionPointToEnd(module.getBody());
  LLVM::LLVMFuncOp function =
      createFunction(b, loc, query, b.getI32Type(), LLVM::Linkage::External);
  Value known = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(KVC_ABI_VERSION));
  Value isKnown = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq,
                                       function.getArgument(0), known);
  Value address = LLVM::AddressOfOp::create(b, loc, table);
  Value null = LLVM::ZeroOp::create(b, loc, address.getType());
  LLVM::ReturnOp::create(b, loc, LLVM::SelectOp::create(b, loc, isKnown, address, null));
  removeProgramAttributes(module);
}
