// Options that kvc-plan refuses.

// RUN: not kvc-opt %s -kvc-plan=split=-1 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected a split of 1 to 16777216 keys, got -1"
// RUN: not kvc-opt %s -kvc-plan=split=16777217 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected a split of 1 to 16777216 keys, got 16777217"
// RUN: not kvc-opt %s -kvc-plan=batch=0 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected a batch of 1 to 4096 sequences, got 0"
// RUN: not kvc-opt %s -kvc-plan=kv-len=1048577 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected a kv-len of 1 to 1048576 tokens, got 1048577"
// RUN: not kvc-opt %s -kvc-plan=prefill-batch=1025 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected a prefill-batch of 1 to 1024 sequences, got 1025"
// RUN: not kvc-opt %s -kvc-plan=q-len=0 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected a q-len of 1 to 16384 tokens, got 0"
// RUN: not kvc-opt %s -kvc-plan=bandwidth=-1.0 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected a bandwidth up to 1e18 bytes a second, got -1"
// RUN: not kvc-opt %s -kvc-plan=tier=sse2 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected tier 'amx', 'avx512_bf16', 'avx512', 'avx2' or 'plain', got 'sse2'"
// RUN: not kvc-opt %s -kvc-plan=forms=heads_n 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected forms of heads_m, tokens_m, rows and columns, got 'heads_n'"
// RUN: not kvc-opt %s -kvc-plan=prefill-forms=rows, 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected forms of heads_m, tokens_m, rows and columns, got ''"
// RUN: not kvc-opt %s -kvc-plan=forms=heads_m: 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected rows (8 to 128), keys (16 to 256), stages (2 to 8) and warps (1, 2, 4 or 8) like 16x64x3x4, or the first of them, got ''"
// RUN: not kvc-opt %s -kvc-plan=forms=rows:many 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected rows (8 to 128), keys (16 to 256), stages (2 to 8) and warps (1, 2, 4 or 8) like 16x64x3x4, or the first of them, got 'many'"
// RUN: not kvc-opt %s -kvc-plan=forms=tokens_m:8x 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected rows (8 to 128), keys (16 to 256), stages (2 to 8) and warps (1, 2, 4 or 8) like 16x64x3x4, or the first of them, got '8x'"
// RUN: not kvc-opt %s -kvc-plan=forms=heads_m:16x64x3x4x1 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected rows (8 to 128), keys (16 to 256), stages (2 to 8) and warps (1, 2, 4 or 8) like 16x64x3x4, or the first of them, got '16x64x3x4x1'"
// RUN: not kvc-opt %s -kvc-plan=forms=heads_m:0 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected rows (8 to 128), keys (16 to 256), stages (2 to 8) and warps (1, 2, 4 or 8) like 16x64x3x4, or the first of them, got '0'"
// RUN: not kvc-opt %s -kvc-plan=forms=rows:136 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected rows (8 to 128), keys (16 to 256), stages (2 to 8) and warps (1, 2, 4 or 8) like 16x64x3x4, or the first of them, got '136'"
// RUN: not kvc-opt %s -kvc-plan=forms=rows:64x8 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected rows (8 to 128), keys (16 to 256), stages (2 to 8) and warps (1, 2, 4 or 8) like 16x64x3x4, or the first of them, got '64x8'"
// RUN: not kvc-opt %s -kvc-plan=forms=rows:64x272 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected rows (8 to 128), keys (16 to 256), stages (2 to 8) and warps (1, 2, 4 or 8) like 16x64x3x4, or the first of them, got '64x272'"
// RUN: not kvc-opt %s -kvc-plan=forms=rows:64x64x1 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected rows (8 to 128), keys (16 to 256), stages (2 to 8) and warps (1, 2, 4 or 8) like 16x64x3x4, or the first of them, got '64x64x1'"
// RUN: not kvc-opt %s -kvc-plan=forms=rows:64x64x9 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected rows (8 to 128), keys (16 to 256), stages (2 to 8) and warps (1, 2, 4 or 8) like 16x64x3x4, or the first of them, got '64x64x9'"
// RUN: not kvc-opt %s -kvc-plan=forms=rows:64x64x2x0 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected rows (8 to 128), keys (16 to 256), stages (2 to 8) and warps (1, 2, 4 or 8) like 16x64x3x4, or the first of them, got '64x64x2x0'"
// RUN: not kvc-opt %s -kvc-plan=forms=rows:64x64x2x3 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected rows (8 to 128), keys (16 to 256), stages (2 to 8) and warps (1, 2, 4 or 8) like 16x64x3x4, or the first of them, got '64x64x2x3'"
// RUN: not kvc-opt %s -kvc-plan=forms=rows:64x64x2x16 2>&1 | FileCheck %s --check-prefix=OPTION -DMESSAGE="expected rows (8 to 128), keys (16 to 256), stages (2 to 8) and warps (1, 2, 4 or 8) like 16x64x3x4, or the first of them, got '64x64x2x16'"

// OPTION: error: [[MESSAGE]]
module {}
