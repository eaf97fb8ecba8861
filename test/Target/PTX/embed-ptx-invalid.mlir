// RUN: kvc-opt %s -kvc-embed-ptx -split-input-file -verify-diagnostics

// expected-error@below {{expected at least one function of kvc operations to make PTX of, which gives one gpu.binary; got 0}}
module {}

// -----

module {
  // expected-error@below {{expected device code that needs no library, but it calls '__nv_exp2f'}}
  gpu.binary @kvc_kernels [#gpu.object<#nvvm.target<chip = "sm_90a">, assembly = ".extern .func  (.param .b32 r) __nv_exp2f\0A(\0A.param .b32 x\0A)\0A;">]
}
