// RUN: kvc-opt %s -kvc-assign-cache-layout -split-input-file | FileCheck %s
// RUN: kvc-opt %s -kvc-assign-cache-layout=layout=row_major -split-input-file \
// RUN:   | FileCheck %s --check-prefix=ROWS --implicit-check-not=packed
// RUN: kvc-opt %s -kvc-assign-cache-layout -split-input-file -o /dev/null \
// RUN:   -remark-policy=all -remarks-filter='kvc.*' 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not kvc-opt %s -kvc-assign-cache-layout=layout=diagonal -split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ERROR

// ERROR: error: expected layout 'packed' or 'row_major', got 'diagonal'

!cache = !kvc.cache<page = 16, k: 1x8xf16, v: 1x8xf16>

// Keys and values get the image that each of their uses reads.
// CHECK-LABEL: func.func @keys_and_values
// CHECK-SAME:    !kvc.cache<page = 16, k: 1x8xf16 layout<packed_key>, v: 1x8xf16 layout<packed_value>>
// CHECK:         kvc.attention {{.*}} layout<packed_key>, v: 1x8xf16 layout<packed_value>>
// ROWS-LABEL: func.func @keys_and_values
// ROWS-SAME:    !kvc.cache<page = 16, k: 1x8xf16, v: 1x8xf16>
func.func @keys_and_values(%q: tensor<?x1x8xf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x1x8xf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x1x8xf16> -> tensor<?x1x8xf16>
  return %out : tensor<?x1x8xf16>
}

// The other functions of the module, which share the pool, follow; so do types
// within attributes and declarations.
// CHECK-LABEL: func.func @append_only
// CHECK-SAME:    layout<packed_key>
// CHECK:         kvc.append {{.*}} layout<packed_key>
func.func @append_only(%k: tensor<?x1x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x1x8xf16>
  return
}
// CHECK:     func.func private @declared(!kvc.cache<{{[^<]*}} layout<packed_key>
// CHECK-SAME:  attributes {type = !kvc.cache<{{[^<]*}} layout<packed_key>
func.func private @declared(!cache) attributes {type = !cache}

// -----

!cache = !kvc.cache<page = 16, c: 1x16xf16, r: 1x8xf16>

// A component that is key and value has no image for both.
// CHECK-LABEL: func.func @negative_key_and_value
// CHECK-SAME:    !kvc.cache<page = 16, c: 1x16xf16, r: 1x8xf16 layout<packed_key>>
// REMARK: remark: [Missed] PackedLayout {{.*}}"component 'c' stays row-major: the component is both key and value
func.func @negative_key_and_value(%qc: tensor<?x1x16xf16>, %qr: tensor<?x1x8xf16>,
                                  %cache: !cache, %batch: !kvc.batch) -> tensor<?x1x16xf16> {
  %out = kvc.attention %cache at %batch terms(%qc * c, %qr * r) value(c) {scale = 1.0 : f32}
      : !cache, tensor<?x1x16xf16>, tensor<?x1x8xf16> -> tensor<?x1x16xf16>
  return %out : tensor<?x1x16xf16>
}

// -----

!cache = !kvc.cache<page = 24, k: 1x8xf16, v: 1x8xf16>

// Blocks of 16 tokens do not fill the page.
// CHECK-LABEL: func.func @negative_page
// CHECK-SAME:    !kvc.cache<page = 24, k: 1x8xf16, v: 1x8xf16>
// REMARK: component 'k' stays row-major: the page size is not a multiple of 16
// REMARK: component 'v' stays row-major: the page size is not a multiple of 16
func.func @negative_page(%q: tensor<?x1x8xf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x1x8xf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x1x8xf16> -> tensor<?x1x8xf16>
  return %out : tensor<?x1x8xf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 1x8xf16, v: 1x8xf16>

// Buffers of the caller are what they are.
// CHECK-LABEL: func.func @negative_foreign
// CHECK:         kvc.cache_from_buffers {{.*}} -> !kvc.cache<page = 16, k: 1x8xf16, v: 1x8xf16>
// REMARK: component 'k' stays row-major: the cache lies in buffers of the caller
func.func @negative_foreign(%q: tensor<?x1x8xf16>, %buffer: memref<?x16x1x8xf16>,
                            %batch: !kvc.batch) -> tensor<?x1x8xf16> {
  %cache = kvc.cache_from_buffers %buffer, %buffer order nhd
      : memref<?x16x1x8xf16>, memref<?x16x1x8xf16> -> !cache
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x1x8xf16> -> tensor<?x1x8xf16>
  return %out : tensor<?x1x8xf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 1x8xf16, extra: 1x8xf16>

// What no attention reads has no better layout.
// CHECK-LABEL: func.func @negative_unread
// CHECK-SAME:    !kvc.cache<page = 16, k: 1x8xf16, extra: 1x8xf16>
// REMARK: component 'k' stays row-major: no attention of the module reads the component
func.func @negative_unread(%k: tensor<?x1x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x1x8xf16>
  return
}

// -----

!cache = !kvc.cache<page = 16, k: 1x8xf16 layout<packed_value>, v: 1x8xf16>

// A packed layout that somebody wrote stays, whatever the uses are.
// CHECK-LABEL: func.func @keeps_packed
// CHECK-SAME:    k: 1x8xf16 layout<packed_value>, v: 1x8xf16 layout<packed_value>
// ROWS-LABEL: func.func @keeps_packed
// ROWS-SAME:    k: 1x8xf16, v: 1x8xf16
func.func @keeps_packed(%q: tensor<?x1x8xf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x1x8xf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x1x8xf16> -> tensor<?x1x8xf16>
  return %out : tensor<?x1x8xf16>
}
