//===- KVCTypes.td - types of the kvc dialect --------------*- tablegen -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TYPES
#define KVC_TYPES

include "kvc/Dialect/KVC/IR/KVCAttributes.td"

class KVC_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<KVC_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def KVC_CacheType : KVC_Type<"Cache", "cache"> {
  let summary = "reference to a paged cache with named components";
  let description = [{
    ```mlir
    !gqa = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
    !cpu = !kvc.cache<page = 64, k: 8x128xbf16 layout<packed_key>,
                                 v: 8x128xbf16 layout<packed_value>>
    ```

    Tokens a page, then the components, each `name: KV heads x width x element`
    with an optional layout (see `#kvc.component`). This is the single truth for
    append, attention, the runtime's pages and the 64-bit fingerprint that the
    runtime checks at every call.

    Constraints:
    1. the page size is at least 1;
    2. there are 1 to 8 components with distinct names of 1 to 15 characters,
       none of them NUL;
    3. heads are at least 1, widths multiples of 8 from 8 to 576;
    4. elements and scales are as `#kvc.component` says;
    5. packed layouts need a page size that is a multiple of 16;
    6. there are at most 8 arrays: a component is one, its scales are another, called
       `<name>.scale`, and its zero points one more, `<name>.zero`, with distinct names
       of at most 15 characters too.
  }];
  let parameters = (ins "int64_t":$pageSize,
                        ArrayRefParameter<"::kvc::ComponentAttr">:$components);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The component called `name`, or null.
    ::kvc::ComponentAttr getComponent(::llvm::StringRef name) const;
    /// Its index, or -1.
    int64_t getComponentIndex(::llvm::StringRef name) const;
    /// Bytes that one token takes in all components, scales included.
    int64_t getBytesPerToken() const;
    /// What the memory of a cache consists of, in the order of the runtime's views.
    ::llvm::SmallVector<::kvc::CacheArray> getArrays() const;
    /// Index of an array, or -1.
    int64_t getArrayIndex(::llvm::StringRef name) const;
  }];
}

def KVC_BatchType : KVC_Type<"Batch", "batch"> {
  let summary = "ragged batch of sequences with new tokens";
  let description = [{
    For each sequence: where its queries start, how many tokens its cache holds
    (new ones included), its page ids; for each new token: its slot in the cache
    (-1 = do not append) and its position; and upper bounds known to the host.
    The memory form is `kvc_batch_t` of `kvc-rt/abi.h`.
  }];
}

def KVC_AnyBatch : Type<KVC_BatchType.predicate, "batch">,
    BuildableType<"::kvc::BatchType::get($_builder.getContext())">;

#endif // KVC_TYPES
