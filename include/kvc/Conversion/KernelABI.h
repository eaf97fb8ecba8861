//===- KernelABI.h - what a kernel says of itself ---------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of a module are llvm.func operations of one gpu.module,
// @kvc_kernels. Each describes itself in attributes, so that the host code of
// `convert-kvc-to-launches` can launch it without knowing how it was made. The
// kernels of one operation are launched in the order of the gpu.module, those of a
// function in the order of its operations, on one stream.
//
//   kvc.function      name of the function that it belongs to
//   kvc.op            index in the function's block of the operation it belongs to
//   kvc.kind          its part in that operation, see KernelKind
//   kvc.phase         of an attention: "decode" for batches of max_query_len <= 1,
//                     "prefill" for the others; absent: for all batches
//   kvc.grid          blocks along x, y, z; one of them may be 0: any number >= 1 up
//                     to the limit of the device is right, and the most useful one
//                     is that of the work items (attention), of the merge entries
//                     (combine) or of the operation's tokens (all others)
//   kvc.threads       threads a block
//   kvc.shared_bytes  dynamic shared memory; above 48 KiB the host must allow it
//                     (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
//   kvc.parameters    what to pass, see KernelValue; each entry stands for one or
//                     more consecutive parameters
//   kvc.alignments    optional, one number an entry: bytes that the data, and every
//                     stride but the innermost, is a multiple of; 0: of an element
//
// and of the attention kernels, for the sizes of the work list and of the parts:
//
//   kvc.split         keys of one work item, or a divisor of them
//   kvc.query_tokens  query tokens of one work item
//   kvc.query_heads, kvc.width    of a part, which is f32 [query tokens][query
//                     heads][width] and, for its statistics, [query tokens][query
//                     heads][2]
//   kvc.deterministic unit: work items have just `kvc.split` keys
//   kvc.cluster       optional, 2, 4 or 8: that many blocks along y at most may form a
//                     cluster, "list cluster" of them (WorkList.h)
//
// All pointers are to device memory; strides count elements.
//===----------------------------------------------------------------------===//
#ifndef KVC_CONVERSION_KERNELABI_H
#define KVC_CONVERSION_KERNELABI_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <optional>

namespace kvc {

/// Name of the gpu.module.
inline constexpr char kKernelModuleName[] = "kvc_kernels";

enum class KernelKind {
  Append,    ///< Of a kvc.append.
  Rope,      ///< Of a kvc.rope.
  Merge,     ///< Of a kvc.merge.
  WorkList,  ///< Of a kvc.attention: fills the work list from the batch.
  Attention, ///< The attention of its items.
  Combine,   ///< Puts the parts of split query blocks together.
};
llvm::StringRef stringifyKernelKind(KernelKind kind);

enum class KernelPhase { Any, Decode, Prefill };

/// What an entry of `kvc.parameters` stands for, with its spelling.
enum class KernelValue {
  Operand,   ///< "operand N" of the operation, a tensor of rank 1 to 3: data, then
             ///< the strides (i64) of its first two dimensions, or of the only one.
  Result,    ///< "result N", likewise.
  Component, ///< "component NAME" of the operation's cache: data, then the strides
             ///< (i64) of pages, heads and tokens.

  // Of the operation's batch: pointers, or numbers of the given type.
  QueryStart,   ///< "batch query_start"
  KvLens,       ///< "batch kv_lens"
  PageStart,    ///< "batch page_start", which may be null
  PageIds,      ///< "batch page_ids"
  Slots,        ///< "batch slots"
  Positions,    ///< "batch positions"
  PageStride,   ///< "batch page_stride", i64
  NumTokens,    ///< "batch num_tokens", i32
  NumSequences, ///< "batch num_sequences", i32
  MaxKvLen,     ///< "batch max_kv_len", i32

  Rows, ///< "rows", i64: the operation's tokens, those of its batch or, of a kvc.merge,
        ///< of its first output.

  // Of the attention in this kernel's phase: memory of the workspace.
  ListItems,   ///< "list items": WorkItem[]
  ListMerges,  ///< "list merges": MergeEntry[]
  ListCounts,  ///< "list counts": WorkCounts
  ListTarget,  ///< "list target", i32: the number of items to aim at, which the list
               ///< keeps to that is not deterministic
  ListCluster, ///< "list cluster", i32: blocks of a cluster of the attention's launch
  PartsOutput, ///< "parts output"
  PartsStats,  ///< "parts stats"
};

/// One entry of `kvc.parameters`.
struct KernelParameter {
  KernelParameter(KernelValue value) : value(value) {}
  static KernelParameter operand(int64_t number);
  static KernelParameter result(int64_t number);
  static KernelParameter component(llvm::StringRef name);

  bool operator==(const KernelParameter &other) const {
    return value == other.value && number == other.number && name == other.name &&
           op == other.op;
  }

  std::string print() const;
  /// The entry that `text` spells, to which its names refer.
  static std::optional<KernelParameter> parse(llvm::StringRef text);

  /// True if it is a tensor or a component, which may have an alignment.
  bool hasStrides() const { return value <= KernelValue::Component; }
  bool isOfBatch() const {
    return value >= KernelValue::QueryStart && value <= KernelValue::MaxKvLen;
  }
  bool isOfList() const { return value >= KernelValue::ListItems; }

  KernelValue value;
  int64_t number = 0;   ///< Of an operand or result.
  llvm::StringRef name; ///< Of a component.
  /// "op K ..." in front: the entry is about another operation of the block. Not for
  /// what is in the workspace.
  std::optional<int64_t> op;
};

/// Types of the kernel's parameters that an entry stands for. `op` is the operation
/// that the entry is about. Nothing if it has no such operand, component or batch.
std::optional<llvm::SmallVector<mlir::Type, 4>>
getParameterTypes(const KernelParameter &parameter, mlir::Operation *op,
                  unsigned addressSpace = 0);

/// What the attributes of a kernel say.
struct KernelDescription {
  llvm::StringRef function;
  int64_t op = 0;
  KernelKind kind = KernelKind::Append;
  KernelPhase phase = KernelPhase::Any;
  int32_t grid[3] = {1, 1, 1};
  int32_t threads = 1;
  int32_t sharedBytes = 0;
  llvm::SmallVector<KernelParameter> parameters;
  llvm::SmallVector<int32_t> alignments; ///< Empty, or one a parameter.

  // Of attention kernels.
  int32_t split = 1, queryTokens = 1, queryHeads = 1, width = 1;
  bool deterministic = false;
  int32_t cluster = 1; ///< Blocks that may form a cluster.
};

/// Sets the attributes of a kernel but for its threads and shared memory, which an
/// operation of another dialect may have of its own.
void setKernelDescription(mlir::Operation *kernel, const KernelDescription &description);

/// Creates an empty kernel for operation `op` with the attributes and the parameters of
/// `description`, whose pointers are to `addressSpace`, and moves `b` into it.
mlir::LLVM::LLVMFuncOp createKernel(mlir::OpBuilder &b, mlir::Operation *op,
                                    llvm::StringRef name,
                                    const KernelDescription &description,
                                    unsigned addressSpace);

/// Reads and checks the attributes; emits an error on what is missing or unknown.
llvm::FailureOr<KernelDescription> getKernelDescription(mlir::LLVM::LLVMFuncOp kernel);

} // namespace kvc

#endif // KVC_CONVERSION_KERNELABI_H
