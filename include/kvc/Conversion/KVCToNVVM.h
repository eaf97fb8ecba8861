//===- KVCToNVVM.h - what a host must know of a kernel ----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `convert-kvc-to-nvvm` turns each function into kernels of one `gpu.module`,
// @kvc_kernels, in the order in which they are to be launched on one stream:
//
//   <function>_append            one for each kvc.append (then _append_1, ...)
//   <function>_worklist          fills the work list from the batch
//   <function>_attention         the attention of the items
//   <function>_merge             merges the parts of split sequences
//
// Runtime contract: each sequence has at most one new token (max_query_len <= 1).
// Data of keys and values is aligned to 16 bytes, with strides that are multiples
// of 8 elements; queries and outputs are aligned to 4 bytes, with even strides.
// Strides count elements. All pointers are to device memory. The host code of
// `convert-kvc-to-launches` relies on it, and has the runtime check it.
//
// Attributes of each kernel:
//   kvc.function      name of the function that it belongs to
//   kvc.kind          "append", "worklist", "attention" or "merge"
//   kvc.grid          blocks along x, y, z; 0: any number >= 1 up to the limit of
//                     the device is right, and the most useful one is the number
//                     of tokens (append), items (attention) or merges (merge)
//   kvc.threads       threads a block
//   kvc.shared_bytes  dynamic shared memory; above 48 KiB the host must allow it
//                     (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
// and of <function>_attention:
//   kvc.split         keys of one item; with it emitWorkListBounds (query tokens
//                     1) gives the sizes of items, merges and parts
//   kvc.query_heads, kvc.width   of a part: f32[query heads][width], and
//                     f32[query heads][2]
//===----------------------------------------------------------------------===//
#ifndef KVC_CONVERSION_KVCTONVVM_H
#define KVC_CONVERSION_KVCTONVVM_H

#include <cstdint>

namespace kvc {

/// Name of the gpu.module.
inline constexpr char kKernelModuleName[] = "kvc_kernels";

/// The runtime contract of attention in numbers; alignments count bytes.
inline constexpr int32_t kAttentionMaxQueryLen = 1;
inline constexpr int32_t kAttentionCacheAlignment = 16;
inline constexpr int32_t kAttentionRowAlignment = 4;

/// Parameters of <function>_attention and of <function>_merge, which take the
/// same list. `i64` where the comment says stride, else a pointer.
struct AttentionParam {
  enum Index : unsigned {
    Query,            ///< [tokens, query heads, width], last stride 1
    QueryTokenStride, ///< stride
    QueryHeadStride,  ///< stride
    Key,              ///< kvc_component_view_t of the key: data,
    KeyPageStride,    ///< stride
    KeyHeadStride,    ///< stride
    KeyTokenStride,   ///< stride
    Val,              ///< and of the value
    ValPageStride,    ///< stride
    ValHeadStride,    ///< stride
    ValTokenStride,   ///< stride
    PageIds,          ///< kvc_batch_t.page_ids
    Items,            ///< WorkItem[], from <function>_worklist
    Merges,           ///< MergeEntry[], likewise
    Counts,           ///< WorkCounts, likewise
    Output,           ///< [tokens, query heads, width], last stride 1
    OutputTokenStride, ///< stride
    OutputHeadStride,  ///< stride
    LSE,              ///< f32 [tokens, query heads]; unused without the result
    LSETokenStride,   ///< stride
    LSEHeadStride,    ///< stride
    Sinks,            ///< f32 [query heads]; unused without sinks
    SinkStride,       ///< stride
    PartOutput,       ///< f32 [parts][query heads][width]: sums, not divided
    PartStats,        ///< f32 [parts][query heads][2]: maximum (base 2) and sum
    Count
  };
  static constexpr bool isStride(unsigned index) {
    return index == QueryTokenStride || index == QueryHeadStride ||
           (index >= KeyPageStride && index <= KeyTokenStride) ||
           (index >= ValPageStride && index <= ValTokenStride) ||
           index == OutputTokenStride || index == OutputHeadStride ||
           index == LSETokenStride || index == LSEHeadStride || index == SinkStride;
  }
};

/// Parameters of <function>_worklist.
struct WorkListParam {
  enum Index : unsigned {
    NumSequences, ///< i32
    MaxKvLen,     ///< i32: the bound that the arrays were sized for
    QueryStart,   ///< pointer: kvc_batch_t.query_start
    KvLens,       ///< pointer: kvc_batch_t.kv_lens
    PageStart,    ///< pointer or null: kvc_batch_t.page_start
    PageStride,   ///< i64: kvc_batch_t.page_stride
    Items,        ///< pointer: WorkItem[]
    Merges,       ///< pointer: MergeEntry[]
    Counts,       ///< pointer: WorkCounts
    Count
  };
};

/// Parameters of <function>_append: Slots and NumTokens, then for each component
/// written, in the order of the op, the PerComponent ones.
struct AppendParam {
  enum Index : unsigned {
    Slots,     ///< pointer: kvc_batch_t.slots
    NumTokens, ///< i32: kvc_batch_t.num_tokens
    FirstComponent
  };
  enum ComponentIndex : unsigned {
    Source,            ///< pointer: [tokens, heads, width], last stride 1
    SourceTokenStride, ///< i64
    SourceHeadStride,  ///< i64
    Data,              ///< pointer: kvc_component_view_t
    PageStride,        ///< i64
    HeadStride,        ///< i64
    TokenStride,       ///< i64
    PerComponent
  };
};

} // namespace kvc

#endif // KVC_CONVERSION_KVCTONVVM_H
