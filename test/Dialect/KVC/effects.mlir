// Caches are references: what reads and writes them says what passes may do.

// RUN: kvc-opt %s -cse -canonicalize | FileCheck %s

!cache = !kvc.cache<page = 16, k: 1x8xf16, v: 1x8xf16>

// An append has no results, and stays.
// CHECK-LABEL: func.func @append_stays
// CHECK-NEXT:    kvc.append
// CHECK-NEXT:    kvc.append
// CHECK-NEXT:    return
func.func @append_stays(%k: tensor<?x1x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x1x8xf16>
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x1x8xf16>
  return
}

// An attention without uses goes, since it only reads.
// CHECK-LABEL: func.func @unused_attention
// CHECK-NEXT:    return
func.func @unused_attention(%q: tensor<?x1x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x1x8xf16> -> tensor<?x1x8xf16>
  return
}

// Two reads without a write between them are one.
// CHECK-LABEL: func.func @equal_reads
// CHECK:         %[[OUT:.*]] = kvc.attention
// CHECK-NOT:     kvc.attention
// CHECK:         return %[[OUT]], %[[OUT]]
func.func @equal_reads(%q: tensor<?x1x8xf16>, %cache: !cache, %batch: !kvc.batch)
    -> (tensor<?x1x8xf16>, tensor<?x1x8xf16>) {
  %0 = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x1x8xf16> -> tensor<?x1x8xf16>
  %1 = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x1x8xf16> -> tensor<?x1x8xf16>
  return %0, %1 : tensor<?x1x8xf16>, tensor<?x1x8xf16>
}

// An append between them keeps them apart, and in their order.
// CHECK-LABEL: func.func @read_write_read
// CHECK:         %[[BEFORE:.*]] = kvc.attention
// CHECK-NEXT:    kvc.append
// CHECK-NEXT:    %[[AFTER:.*]] = kvc.attention
// CHECK-NEXT:    return %[[BEFORE]], %[[AFTER]]
func.func @read_write_read(%q: tensor<?x1x8xf16>, %cache: !cache, %batch: !kvc.batch)
    -> (tensor<?x1x8xf16>, tensor<?x1x8xf16>) {
  %0 = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x1x8xf16> -> tensor<?x1x8xf16>
  kvc.append %cache[k: %q] at %batch : !cache, tensor<?x1x8xf16>
  %1 = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x1x8xf16> -> tensor<?x1x8xf16>
  return %0, %1 : tensor<?x1x8xf16>, tensor<?x1x8xf16>
}

// Reads that differ in an attribute or an operand are two.
// CHECK-LABEL: func.func @different_reads
// CHECK-COUNT-3: kvc.attention
func.func @different_reads(%q: tensor<?x1x8xf16>, %cache: !cache, %batch: !kvc.batch,
                           %other: !kvc.batch)
    -> (tensor<?x1x8xf16>, tensor<?x1x8xf16>, tensor<?x1x8xf16>) {
  %0 = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x1x8xf16> -> tensor<?x1x8xf16>
  %1 = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 2.0 : f32}
      : !cache, tensor<?x1x8xf16> -> tensor<?x1x8xf16>
  %2 = kvc.attention %cache at %other terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x1x8xf16> -> tensor<?x1x8xf16>
  return %0, %1, %2 : tensor<?x1x8xf16>, tensor<?x1x8xf16>, tensor<?x1x8xf16>
}

// Operations without effects are merged across an append, and go without uses.
// CHECK-LABEL: func.func @pure
// CHECK:         %[[ROTATED:.*]] = kvc.rope
// CHECK-NEXT:    kvc.append
// CHECK-NEXT:    return %[[ROTATED]], %[[ROTATED]]
func.func @pure(%q: tensor<?x1x8xf16>, %lse: tensor<?x1xf32>, %buffer: memref<?x16x1x8xf16>,
                %cache: !cache, %batch: !kvc.batch) -> (tensor<?x1x8xf16>, tensor<?x1x8xf16>) {
  %0 = kvc.rope %q at %batch {theta = 1.0e4 : f64, rotary_width = 8 : i64}
      : tensor<?x1x8xf16>
  kvc.append %cache[k: %0] at %batch : !cache, tensor<?x1x8xf16>
  %1 = kvc.rope %q at %batch {theta = 1.0e4 : f64, rotary_width = 8 : i64}
      : tensor<?x1x8xf16>
  %merged, %sum = kvc.merge outputs(%q : tensor<?x1x8xf16>) lses(%lse : tensor<?x1xf32>)
      : tensor<?x1x8xf16>, tensor<?x1xf32>
  %foreign = kvc.cache_from_buffers %buffer order nhd : memref<?x16x1x8xf16>
      -> !kvc.cache<page = 16, k: 1x8xf16>
  return %0, %1 : tensor<?x1x8xf16>, tensor<?x1x8xf16>
}
