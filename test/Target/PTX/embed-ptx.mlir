// PTX text becomes the image of the program.

// RUN: kvc-opt %s -kvc-embed-ptx | FileCheck %s

// CHECK: module attributes {kvc.image = {data = ".version 8.6\0A", target = "sm_90a"}} {
// CHECK-NOT: gpu
module attributes {gpu.container_module} {
  gpu.binary @kvc_kernels [#gpu.object<#nvvm.target<chip = "sm_90a">, assembly = ".version 8.6\0A\00">]
}
