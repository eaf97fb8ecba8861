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
