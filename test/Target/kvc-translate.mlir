// The same input as text, LLVM IR, object file and PTX.

// RUN: kvc-translate --kvc-to-mlir --tier=plain %s | FileCheck %s --check-prefix=MLIR
// RUN: kvc-translate --kvc-to-llvmir --tier=plain %s | FileCheck %s --check-prefix=IR
// RUN: kvc-translate --kvc-to-llvmir --tier=avx512_bf16 --cpu=znver4 --features=+avx512fp16 %s \
// RUN:   | FileCheck %s --check-prefix=FEATURES
// RUN: kvc-translate --kvc-to-llvmir --target=definition --program-name=mine - < %s \
// RUN:   | FileCheck %s --check-prefix=DEFINITION
// RUN: kvc-translate --kvc-to-ptx %s -o %t.ptx
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t.ptx
// RUN: kvc-translate --kvc-to-ptx --chip=sm_90 --ptx-version=83 %s \
// RUN:   | FileCheck %s --check-prefix=PTX-83

// An object needs nothing but libc and libm, and exports one symbol.
// RUN: kvc-translate --kvc-to-object --tier=plain %s -o %t.o
// RUN: llvm-nm --extern-only --defined-only %t.o | FileCheck %s --check-prefix=OBJECT
// RUN: llvm-nm --undefined-only %t.o | count 0
// RUN: kvc-translate --kvc-to-object --target=definition --cpu=x86-64 %s -o %t.o
// RUN: llvm-nm --extern-only --defined-only %t.o | FileCheck %s --check-prefix=OBJECT
// RUN: llvm-nm --undefined-only %t.o | FileCheck %s --check-prefix=NEEDS \
// RUN:   --implicit-check-not=" U "
// RUN: kvc-translate --kvc-to-object --target=gpu --program-name=mine %s -o %t.o
// RUN: llvm-nm --extern-only --defined-only %t.o | FileCheck %s --check-prefix=GPU-OBJECT
// RUN: llvm-nm --undefined-only %t.o | count 0
// RUN: kvc-translate --kvc-to-llvmir --target=gpu %s | FileCheck %s --check-prefix=GPU-IR
// RUN: kvc-translate --kvc-to-mlir --target=gpu %s | FileCheck %s --check-prefix=GPU-MLIR

// MLIR-NOT: kvc.functions
// MLIR: llvm.func @kvc_program_query(
// IR: target triple = "x86_64
// IR: define ptr @kvc_program_query(i32
// IR: attributes #{{[0-9]+}} = { {{.*}}"target-cpu"="x86-64"
// FEATURES: "target-cpu"="znver4"
// FEATURES-SAME: +avx512bf16{{.*}},+avx512fp16"
// DEFINITION: define ptr @mine_program_query(i32
// PTX: .version 8.6
// PTX: .target sm_90a
// PTX: .entry
// PTX-83: .version 8.3
// PTX-83: .target sm_90{{$}}
// OBJECT: T kvc_program_query
// OBJECT-NOT: {{.}}
// GPU-OBJECT: T mine_program_query
// GPU-OBJECT-NOT: {{.}}
// GPU-IR: target triple = "x86_64
// GPU-IR: .entry decode_attention
// GPU-IR: define ptr @kvc_program_query(i32
// GPU-IR: attributes #{{[0-9]+}} = { {{.*}}"target-cpu"="x86-64"
// GPU-MLIR-NOT: gpu.
// GPU-MLIR: llvm.func @kvc_program_query(
// NEEDS-DAG: U expf
// NEEDS-DAG: U memcpy

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
func.func @decode(%q: tensor<?x32x128xbf16>, %k: tensor<?x8x128xbf16>,
                  %v: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x32x128xbf16> {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x8x128xbf16>, tensor<?x8x128xbf16>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.0883883461 : f32} : !cache, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %o : tensor<?x32x128xbf16>
}
