// RUN: kvc-opt %s -split-input-file -verify-diagnostics \
// RUN:   -pass-pipeline='builtin.module(gpu.module(convert-kvtile-to-nvvm))'

// A stream is a loop only once it is pipelined.
gpu.module @kernels {
kvtile.kernel @stream(%begin: i32, %end: i32)
    attributes {threads = 32 : i32, shared_bytes = 0 : i32, max_registers = 64 : i32} {
  // expected-error@below {{'kvtile.stream' op has to be pipelined first; run kvtile-pipeline-copies}}
  kvtile.stream %begin to %end stages 2 offset 0 slots [] lookup {
  ^bb0(%tile: i32):
    kvtile.yield
  } produce {
  ^bb0(%tile: i32):
    kvtile.yield
  } consume {
  ^bb0(%tile: i32):
    kvtile.yield
  }
  kvtile.return
}
}

// -----

// A tile has registers only once it has a layout.
gpu.module @kernels {
kvtile.kernel @tile()
    attributes {threads = 32 : i32, shared_bytes = 0 : i32, max_registers = 64 : i32} {
  // expected-error@below {{'kvtile.fill' op has a result without a layout, '!kvtile.tile<16x8xf32>'; run kvtile-assign-layouts}}
  %tile = kvtile.fill 0.0 : !kvtile.tile<16x8xf32>
  kvtile.return
}
}

// -----

// The threads of a block are the kernel's.
gpu.module @kernels {
llvm.func @function(%items: !llvm.ptr<1>, %n: i32) {
  // expected-error@below {{'kvtile.work_item' op expected to be in a kvtile.kernel, got 'llvm.func'}}
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  llvm.return
}
}

// -----

gpu.module @kernels {
builtin.module {
// expected-error@below {{'kvtile.kernel' op expected to be in a gpu.module, got 'builtin.module'}}
kvtile.kernel @nested()
    attributes {threads = 32 : i32, shared_bytes = 0 : i32, max_registers = 64 : i32} {
  kvtile.return
}
}
}

// -----

// The name of what all kernels share.
gpu.module @kernels {
// expected-error@below {{'kvtile.kernel' op expected another name than that of the shared memory, 'kvc_shared'}}
kvtile.kernel @kvc_shared()
    attributes {threads = 32 : i32, shared_bytes = 0 : i32, max_registers = 64 : i32} {
  kvtile.return
}
}

// -----

// An item has several registers, and arith.select but one.
gpu.module @kernels {
kvtile.kernel @select(%items: !llvm.ptr<1>, %n: i32)
    attributes {threads = 32 : i32, shared_bytes = 0 : i32, max_registers = 64 : i32} {
  %zero = arith.constant 0 : i32
  %is_zero = arith.cmpi eq, %n, %zero : i32
  %first = kvtile.work_item %items[%zero] : !llvm.ptr<1>
  %other = kvtile.work_item %items[%n] : !llvm.ptr<1>
  // expected-error@below {{'arith.select' op expected no operand of kvtile, got '!kvtile.item'}}
  %item = arith.select %is_zero, %first, %other : !kvtile.item
  %begin, %end = kvtile.tile_range %item keys 64
  kvtile.return
}
}
