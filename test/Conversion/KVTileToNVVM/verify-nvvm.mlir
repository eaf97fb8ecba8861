// Each construct that LLVM 22 compiles to wrong code, or on which it ends the
// process, is refused with what to write instead.

// RUN: kvc-opt %s --kvc-verify-nvvm --split-input-file --verify-diagnostics

gpu.module @read_write {
  llvm.func @kernel(%a: f32) attributes {gpu.kernel, nvvm.kernel} {
    // expected-error@below {{has rw operands, which LLVM 22 ties to the wrong registers; use ro(...)}}
    nvvm.inline_ptx "add.f32 $0, $0, $0;" rw(%a : f32)
    llvm.return
  }
}

// -----

gpu.module @atomic {
  llvm.func @kernel(%p: !llvm.ptr<1>, %a: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.atomicrmw add %p, %a monotonic : !llvm.ptr<1>, i32
    // expected-error@below {{has ordering acq_rel, which becomes a relaxed PTX instruction; use monotonic between two llvm.fence}}
    %1 = llvm.atomicrmw add %p, %a acq_rel : !llvm.ptr<1>, i32
    llvm.return
  }
}

// -----

gpu.module @library {
  llvm.func @kernel(%a: f32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = math.fma %a, %a, %a : f32
    // expected-error@below {{'math.exp2' op becomes a call of a device library that need not be there}}
    %1 = math.exp2 %a : f32
    // expected-error@below {{'arith.maxnumf' op becomes a call of a device library}}
    %2 = arith.maxnumf %a, %a : f32
    // expected-error@below {{'llvm.intr.sin' op has no PTX instruction, and LLVM ends the process}}
    %3 = llvm.intr.sin(%a) : (f32) -> f32
    llvm.return
  }
}

// -----

gpu.module @nvgpu {
  gpu.func @kernel(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf16>) kernel {
    // expected-error@below {{is of the nvgpu dialect, whose lowerings fail on bf16 and f8; use the nvvm op}}
    %0 = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 16]}
        : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    gpu.return
  }
}

// -----

gpu.module @redux {
  llvm.func @kernel(%a: f32, %i: i32, %mask: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.redux.sync add %i, %mask : i32 -> i32
    // expected-error@below {{of kind fmax does not exist on sm_90a, where LLVM ends the process; use nvvm.shfl.sync}}
    %1 = nvvm.redux.sync fmax %a, %mask : f32 -> f32
    llvm.return
  }
}

// -----

gpu.module @intrinsic {
  llvm.func @kernel(%a: f32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%a) : (f32) -> f32
    // expected-error@below {{calls intrinsic 'llvm.nvvm.sqrt.rn.d', which is not known to be selected for sm_90a}}
    %1 = llvm.call_intrinsic "llvm.nvvm.sqrt.rn.d"(%a) : (f32) -> f32
    llvm.return
  }
}

// -----

gpu.module @gather {
  llvm.func @kernel(%d: !llvm.ptr, %s: !llvm.ptr<7>, %bar: !llvm.ptr<3>, %x: i32)
      attributes {gpu.kernel, nvvm.kernel} {
    // expected-error@below {{of mode tile_gather4 does not exist on sm_90a}}
    nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %d, %bar, box[%x, %x, %x, %x, %x]
        {mode = #nvvm.tma_load_mode<tile_gather4>} : !llvm.ptr<7>, !llvm.ptr
    llvm.return
  }
}

// -----

gpu.module @registers {
  llvm.func @bounded() attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 384>,
                                   nvvm.minctasm = 1 : i32} {
    nvvm.setmaxregister decrease 24
    llvm.return
  }
  llvm.func @unbounded() attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 384>} {
    // expected-error@below {{is ignored without nvvm.reqntid and one of nvvm.minctasm and nvvm.maxnreg on the kernel; add them}}
    nvvm.setmaxregister decrease 24
    llvm.return
  }
}

// -----

gpu.module @memref {
  // expected-error@below {{parameter 0 is a memref, which becomes a parameter for each of its fields; use !llvm.ptr<1>}}
  gpu.func @kernel(%m: memref<4xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @f8 {
  gpu.func @kernel(%a: vector<2xf8E4M3FN>) kernel {
    // expected-error@below {{'arith.extf' op on f8 types has no NVVM lowering; use nvvm.convert.f8x2.to.f16x2}}
    %0 = arith.extf %a : vector<2xf8E4M3FN> to vector<2xf16>
    gpu.return
  }
}
