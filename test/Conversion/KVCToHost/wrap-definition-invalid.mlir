// RUN: kvc-opt %s -kvc-wrap-definition -verify-diagnostics

// What is recorded and what is there have to agree.
// expected-error@below {{expected the arguments that kvc-decompose and the upstream lowering make of '(tensor<4xf32>) -> ()', got '!llvm.func<void (ptr)>'}}
llvm.func @f(%x: !llvm.ptr) attributes {kvc.function_type = (tensor<4xf32>) -> ()} {
  llvm.return
}
