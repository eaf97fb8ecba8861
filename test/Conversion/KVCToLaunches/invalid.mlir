// What has no launch is refused with the reason.

// RUN: kvc-opt %s -convert-kvc-to-launches -split-input-file -verify-diagnostics

!cache = !kvc.cache<page = 16, k: 8x128xbf16>

func.func @no_kernels(%k: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{expected its append kernel next in the gpu.module, found none; run convert-kvc-to-nvvm with keep-functions before this pass}}
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x8x128xbf16>
  return
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    llvm.func @f_merge() attributes {nvvm.kernel, kvc.function = "f", kvc.kind = "merge",
        kvc.grid = array<i32: 1, 0, 1>, kvc.threads = 64 : i32, kvc.shared_bytes = 0 : i32} {
      llvm.return
    }
  }
  func.func @f(%q: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
      -> tensor<?x8x128xbf16> {
    // expected-error@below {{expected its worklist kernel next in the gpu.module, found merge}}
    %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
        : !cache, tensor<?x8x128xbf16> -> tensor<?x8x128xbf16>
    return %o : tensor<?x8x128xbf16>
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kvc_kernels {
    // expected-error@below {{expected the attributes of a kernel that convert-kvc-to-nvvm writes: kvc.function, kvc.kind, kvc.grid of three numbers, kvc.threads, kvc.shared_bytes}}
    llvm.func @mine() attributes {nvvm.kernel} {
      llvm.return
    }
  }
}

// -----

func.func @other(%x: i32) {
  // expected-error@below {{no launch for operation 'arith.addi'; supported: kvc.append, kvc.attention}}
  %y = arith.addi %x, %x : i32
  return
}

// -----

// A result that is an argument.
func.func @argument(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{expected results that the function computes, got an argument: it would need a copy}}
  return %x : tensor<4xf32>
}

// -----

// expected-error@below {{symbol 'kvc.program' is reserved for the program}}
func.func @kvc.program() {
  return
}
