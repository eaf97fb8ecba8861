// The passes of the CPU pipeline, in their order, and the program that they make.

// RUN: kvc-opt %s -kvc-to-cpu-pipeline="tier=avx2 layout=row_major split=64 program-name=gqa" \
// RUN:   -dump-pass-pipeline -o %t.mlir 2>&1 | FileCheck %s --check-prefix=PASSES
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: kvc-opt --help | FileCheck %s --check-prefix=NAMES
// RUN: not kvc-opt %s -kvc-to-cpu-pipeline=tier=sse2 2>&1 | FileCheck %s --check-prefix=TIER
// RUN: not kvc-opt %s -kvc-to-cpu-pipeline=program-name=a-b 2>&1 | FileCheck %s --check-prefix=NAME

// NAMES-DAG: --kvc-to-cpu-pipeline
// NAMES-DAG: --kvc-to-definition-pipeline
// NAMES-DAG: --kvc-to-ptx-pipeline

// Decisions, then kernels, then the LLVM dialect; options reach the pass that they
// are for.
// PASSES:      kvc-assign-cache-layout{codes=lanes layout=row_major},
// PASSES-NEXT: kvc-plan{{.*}}split=64 target=cpu tier=avx2},
// PASSES-NEXT: convert-kvc-to-cpu{tier=avx2},
// PASSES-NEXT: canonicalize
// PASSES-NEXT: cse,
// PASSES-NEXT: convert-scf-to-cf
// PASSES:      convert-vector-to-llvm
// PASSES:      reconcile-unrealized-casts,
// PASSES-NEXT: kvc-build-program{program-name=gqa target={{.*}}x86_64 avx2

// TIER: error: expected tier 'amx', 'avx512_bf16', 'avx512', 'avx2' or 'plain', got 'sse2'
// NAME: error: expected program-name to be a C identifier, got 'a-b'

!cache = !kvc.cache<page = 16, k: 2x8xbf16, v: 2x8xbf16>

// Nothing is left but the LLVM dialect and one public symbol.
// CHECK-NOT:  {{(kvc|func|scf|cf|arith|vector|math)\.[a-z_]+ }}
// CHECK-NOT:  unrealized_conversion_cast
// CHECK:      llvm.func internal @decode.run
// CHECK:      llvm.func @gqa_program_query(
// CHECK-NOT:  unrealized_conversion_cast
func.func @decode(%q: tensor<?x4x8xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x4x8xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.5 : f32} : !cache, tensor<?x4x8xbf16> -> tensor<?x4x8xbf16>
  return %out : tensor<?x4x8xbf16>
}
