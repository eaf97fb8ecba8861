// RUN: not kvc-opt %s -kvc-decompose=precision=bf16 2>&1 | FileCheck %s

// CHECK: error: expected precision 'f32' or 'f64', got 'bf16'
module {}
