// What kernels say of themselves is checked, alone and against their function.

// RUN: kvc-opt %s -convert-kvc-to-launches -split-input-file -verify-diagnostics

// Attributes that are missing or wrong.
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.function' to be the name of a function, got none}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.kind = "append", kvc.op = 0 : i32,
        kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32, kvc.shared_bytes = 0 : i32,
        kvc.parameters = ["batch slots"]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.op' to be an i32 from 0 to 2147483647, got -1 : i32}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = -1 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots"]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.kind' to be one of "append", "rope", "merge", "worklist", "attention", "combine", got "copy"}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "copy",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots"]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.phase' to be one of "decode", "prefill", got "both"}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots"], kvc.phase = "both"}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.grid' to be three numbers of at least 0, of which one may be 0, got array<i32: 0, 0, 1>}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 0, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots"]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.threads' to be an i32 from 1 to 1024, got 1025 : i32}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 1025 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots"]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.shared_bytes' to be an i32 from 0 to 2147483647, got 0 : i64}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i64, kvc.parameters = ["batch slots"]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.parameters' to be an array of strings, got none}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected a parameter as in KernelABI.h, got "batch tokens"}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots", "batch tokens"]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected a parameter as in KernelABI.h, got "operand"}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots", "operand"]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected a parameter as in KernelABI.h, got "operand x"}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots", "operand x"]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected a parameter as in KernelABI.h, got "operand 1 2"}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots", "operand 1 2"]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected a parameter as in KernelABI.h, got "result -1"}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots", "result -1"]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected a parameter as in KernelABI.h, got "op 0 list items"}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots", "op 0 list items"]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected a parameter as in KernelABI.h, got "op 1"}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots", "op 1"]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected a parameter as in KernelABI.h, got "slots"}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots", "slots"]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected a parameter as in KernelABI.h, got "batch slots "}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots", "batch slots "]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected a parameter as in KernelABI.h, got 1 : i64}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = [1]}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.alignments' to be a number for each of the 1 parameters, got array<i32: 0, 0>}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots"],
        kvc.alignments = array<i32: 0, 0>}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected no alignment of 'batch slots', got 4}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots"],
        kvc.alignments = array<i32: 4>}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected the alignment of 'operand 0' to be a power of two, got 12}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["operand 0"], kvc.alignments = array<i32: 12>}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.query_tokens' to be an i32 from 1 to 32767, got 0 : i32}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f",
        kvc.kind = "attention", kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>,
        kvc.threads = 64 : i32, kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots"],
        kvc.split = 64 : i32, kvc.query_tokens = 0 : i32}
  }
}

// -----

// Kernels that do not fit the function.
!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.op' to be one of the 2 operations of 'f', got 2}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 2 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots"]}
  }
  func.func @f(%k: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) {
    kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x64xbf16>
    return
  }
}

// -----

// The note is at the operation.
!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.kind' to fit operation 'kvc.append', got "rope"}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "rope",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots"]}
  }
  func.func @f(%k: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) {
    // expected-note@below {{which is this one}}
    kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x64xbf16>
    return
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.phase' on kernels of an attention only}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots"], kvc.phase = "decode"}
  }
  func.func @f(%k: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) {
    kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x64xbf16>
    return
  }
}

// -----

// A batch is no tensor.
!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected its operation to have 'operand 1'}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["operand 1"]}
  }
  func.func @f(%k: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) {
    kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x64xbf16>
    return
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected its operation to have 'operand 3'}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["operand 3"]}
  }
  func.func @f(%k: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) {
    kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x64xbf16>
    return
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected its operation to have 'result 0'}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["result 0"]}
  }
  func.func @f(%k: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) {
    kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x64xbf16>
    return
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected its operation to have 'component x'}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["component x"]}
  }
  func.func @f(%k: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) {
    kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x64xbf16>
    return
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected its operation to have 'list items'}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["list items"]}
  }
  func.func @f(%k: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) {
    kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x64xbf16>
    return
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected its operation to have 'op 1 batch slots'}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["op 1 batch slots"]}
  }
  func.func @f(%k: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) {
    kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x64xbf16>
    return
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected its operation to have 'op 7 operand 0'}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["op 7 operand 0"]}
  }
  func.func @f(%k: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) {
    kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x64xbf16>
    return
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected the 3 parameters of 'kvc.parameters', got 1}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["operand 2"]}
  }
  func.func @f(%k: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) {
    kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x64xbf16>
    return
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected parameter 1 of 'kvc.parameters' to be 'i32', got 'i64'}}
    llvm.func @k(!llvm.ptr<1>, i64) attributes {nvvm.kernel, kvc.function = "f",
        kvc.kind = "append", kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>,
        kvc.threads = 64 : i32, kvc.shared_bytes = 0 : i32,
        kvc.parameters = ["batch slots", "batch num_tokens"]}
  }
  func.func @f(%k: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) {
    kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x64xbf16>
    return
  }
}

// -----

// Kernels of an attention.
!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    llvm.func @k(!llvm.ptr, i64, i64) attributes {nvvm.kernel, kvc.function = "f",
        kvc.kind = "attention", kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>,
        kvc.threads = 64 : i32, kvc.shared_bytes = 0 : i32, kvc.parameters = ["result 0"],
        kvc.split = 64 : i32, kvc.query_tokens = 1 : i32, kvc.query_heads = 2 : i32,
        kvc.width = 64 : i32}
    llvm.func @p(!llvm.ptr, i64, i64) attributes {nvvm.kernel, kvc.function = "f",
        kvc.kind = "attention", kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>,
        kvc.threads = 64 : i32, kvc.shared_bytes = 0 : i32, kvc.parameters = ["result 0"],
        kvc.phase = "decode", kvc.split = 64 : i32, kvc.query_tokens = 1 : i32,
        kvc.query_heads = 2 : i32, kvc.width = 64 : i32}
  }
  func.func @f(%q: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x2x64xbf16> {
    // expected-error@below {{expected a phase of all its kernels or of none}}
    %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
        : !cache, tensor<?x2x64xbf16> -> tensor<?x2x64xbf16>
    return %o : tensor<?x2x64xbf16>
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    llvm.func @k(!llvm.ptr, i64, i64) attributes {nvvm.kernel, kvc.function = "f",
        kvc.kind = "attention", kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>,
        kvc.threads = 64 : i32, kvc.shared_bytes = 0 : i32, kvc.parameters = ["result 0"],
        kvc.phase = "prefill", kvc.split = 64 : i32, kvc.query_tokens = 1 : i32,
        kvc.query_heads = 2 : i32, kvc.width = 64 : i32}
  }
  func.func @f(%q: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x2x64xbf16> {
    // expected-error@below {{expected decode kernels beside those for prefill}}
    %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
        : !cache, tensor<?x2x64xbf16> -> tensor<?x2x64xbf16>
    return %o : tensor<?x2x64xbf16>
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    llvm.func @l(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "worklist",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 1, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["list items"]}
  }
  func.func @f(%q: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x2x64xbf16> {
    // expected-error@below {{expected one attention kernel a phase, got 0}}
    %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
        : !cache, tensor<?x2x64xbf16> -> tensor<?x2x64xbf16>
    return %o : tensor<?x2x64xbf16>
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected a worklist kernel of its attention before it}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f",
        kvc.kind = "attention", kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>,
        kvc.threads = 64 : i32, kvc.shared_bytes = 0 : i32, kvc.parameters = ["list items"],
        kvc.split = 64 : i32, kvc.query_tokens = 1 : i32, kvc.query_heads = 2 : i32,
        kvc.width = 64 : i32}
    llvm.func @l(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "worklist",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 1, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["list items"]}
  }
  func.func @f(%q: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x2x64xbf16> {
    %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
        : !cache, tensor<?x2x64xbf16> -> tensor<?x2x64xbf16>
    return %o : tensor<?x2x64xbf16>
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected a combine kernel for its parts after it}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f",
        kvc.kind = "attention", kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>,
        kvc.threads = 64 : i32, kvc.shared_bytes = 0 : i32, kvc.parameters = ["parts output"],
        kvc.split = 64 : i32, kvc.query_tokens = 1 : i32, kvc.query_heads = 2 : i32,
        kvc.width = 64 : i32}
  }
  func.func @f(%q: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x2x64xbf16> {
    %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
        : !cache, tensor<?x2x64xbf16> -> tensor<?x2x64xbf16>
    return %o : tensor<?x2x64xbf16>
  }
}

// -----

// The list and its sizes go together.
!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    llvm.func @l(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "worklist",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 1, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["list items"]}
    // expected-error@below {{expected its worklist kernel to take 'list target', or 'kvc.deterministic' here, got neither}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "attention",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["list items"], kvc.split = 64 : i32,
        kvc.query_tokens = 1 : i32, kvc.query_heads = 2 : i32, kvc.width = 64 : i32}
  }
  func.func @f(%q: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x2x64xbf16> {
    %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
        : !cache, tensor<?x2x64xbf16> -> tensor<?x2x64xbf16>
    return %o : tensor<?x2x64xbf16>
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    llvm.func @l(!llvm.ptr, i32) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "worklist",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 1, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["list items", "list target"]}
    // expected-error@below {{expected its worklist kernel to take 'list target', or 'kvc.deterministic' here, got both}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "attention",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["list items"], kvc.split = 64 : i32,
        kvc.query_tokens = 1 : i32, kvc.query_heads = 2 : i32, kvc.width = 64 : i32, kvc.deterministic}
  }
  func.func @f(%q: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x2x64xbf16> {
    %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
        : !cache, tensor<?x2x64xbf16> -> tensor<?x2x64xbf16>
    return %o : tensor<?x2x64xbf16>
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    llvm.func @l(!llvm.ptr, i32) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "worklist",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 1, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["list items", "list target"]}
    // expected-error@below {{expected its worklist kernel to take 'list cluster', and 'kvc.cluster' here, or none of them, got the second alone}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "attention",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["list items"], kvc.split = 64 : i32,
        kvc.query_tokens = 1 : i32, kvc.query_heads = 2 : i32, kvc.width = 64 : i32,
        kvc.cluster = 8 : i32}
  }
  func.func @f(%q: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x2x64xbf16> {
    %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
        : !cache, tensor<?x2x64xbf16> -> tensor<?x2x64xbf16>
    return %o : tensor<?x2x64xbf16>
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.cluster' to be 1, 2, 4 or 8, got 3}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "attention",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["list items"], kvc.split = 64 : i32,
        kvc.query_tokens = 1 : i32, kvc.query_heads = 2 : i32, kvc.width = 64 : i32,
        kvc.cluster = 3 : i32}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected no 'kvc.cluster' beside 'kvc.deterministic'}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "attention",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["list items"], kvc.split = 64 : i32,
        kvc.query_tokens = 1 : i32, kvc.query_heads = 2 : i32, kvc.width = 64 : i32,
        kvc.cluster = 8 : i32, kvc.deterministic}
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected 'kvc.grid' with a 0 for y beside 'kvc.cluster', got 1}}
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "attention",
        kvc.op = 0 : i32, kvc.grid = array<i32: 1, 1, 0>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["list items"], kvc.split = 64 : i32,
        kvc.query_tokens = 1 : i32, kvc.query_heads = 2 : i32, kvc.width = 64 : i32,
        kvc.cluster = 8 : i32}
  }
}

// -----

// A result that no kernel writes.
!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f",
        kvc.kind = "attention", kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>,
        kvc.threads = 64 : i32, kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots"],
        kvc.split = 64 : i32, kvc.query_tokens = 1 : i32, kvc.query_heads = 2 : i32,
        kvc.width = 64 : i32}
  }
  func.func @f(%q: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x2x64xbf16> {
    // expected-note@below {{no kernel has this one as its result}}
    %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
        : !cache, tensor<?x2x64xbf16> -> tensor<?x2x64xbf16>
    // expected-error@below {{expected values that a kernel writes}}
    return %o : tensor<?x2x64xbf16>
  }
}

// -----

// An append that does not say that it does the rope as well, and one that reads what
// only the rope would have written.
!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    llvm.func @k(!llvm.ptr) attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "append",
        kvc.op = 1 : i32, kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32,
        kvc.shared_bytes = 0 : i32, kvc.parameters = ["batch slots"]}
  }
  func.func @f(%k: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) {
    // expected-error@below {{expected a kernel in the gpu.module, found none}}
    %r = kvc.rope %k at %batch {theta = 1.0e4 : f64, rotary_width = 8 : i64}
        : tensor<?x2x64xbf16>
    kvc.append %cache[k: %r] at %batch : !cache, tensor<?x2x64xbf16>
    return
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected values that a kernel writes}}
    llvm.func @k(!llvm.ptr, i64, i64, !llvm.ptr, i64, i64) attributes {nvvm.kernel,
        kvc.function = "f", kvc.kind = "append", kvc.op = 1 : i32, kvc.grid = array<i32: 1, 0, 1>,
        kvc.threads = 64 : i32, kvc.shared_bytes = 0 : i32,
        kvc.parameters = ["op 0 operand 0", "operand 2"]}
  }
  func.func @f(%k: tensor<?x2x64xbf16>, %cache: !cache, %batch: !kvc.batch) {
    // expected-note@below {{no kernel has this one as its result}}
    %r = kvc.rope %k at %batch {theta = 1.0e4 : f64, rotary_width = 8 : i64}
        : tensor<?x2x64xbf16>
    kvc.append %cache[k: %r] at %batch : !cache, tensor<?x2x64xbf16>
    return
  }
}

// -----

// Rows of the workspace are where they are.
module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    llvm.func @k(!llvm.ptr, i64, i64) attributes {nvvm.kernel, kvc.function = "f",
        kvc.kind = "rope", kvc.op = 0 : i32, kvc.grid = array<i32: 1, 0, 1>,
        kvc.threads = 64 : i32, kvc.shared_bytes = 0 : i32, kvc.parameters = ["result 0"]}
    // expected-error@below {{expected 'operand 0' with strides of a multiple of 16 bytes, got a tensor of the workspace with 8}}
    llvm.func @a(!llvm.ptr, i64, i64, !llvm.ptr, i64, i64) attributes {nvvm.kernel,
        kvc.function = "f", kvc.kind = "rope", kvc.op = 1 : i32, kvc.grid = array<i32: 1, 0, 1>,
        kvc.threads = 64 : i32, kvc.shared_bytes = 0 : i32,
        kvc.parameters = ["operand 0", "result 0"], kvc.alignments = array<i32: 16, 0>}
  }
  func.func @f(%k: tensor<?x2x4xbf16>, %batch: !kvc.batch) -> tensor<?x2x4xbf16> {
    %r = kvc.rope %k at %batch {theta = 1.0e4 : f64, rotary_width = 4 : i64}
        : tensor<?x2x4xbf16>
    %s = kvc.rope %r at %batch {theta = 1.0e4 : f64, rotary_width = 4 : i64}
        : tensor<?x2x4xbf16>
    return %s : tensor<?x2x4xbf16>
  }
}
