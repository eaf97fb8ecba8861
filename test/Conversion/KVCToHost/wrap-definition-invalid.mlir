// RUN: kvc-opt %s -kvc-wrap-definition -verify-diagnostics -split-input-file

// What is recorded and what is there have to agree.
// expected-error@below {{expected the arguments that kvc-decompose and the upstream lowering make of '(tensor<4xf32>) -> ()', got '!llvm.func<void (ptr)>'}}
llvm.func @f(%x: !llvm.ptr) attributes {kvc.function_type = (tensor<4xf32>) -> ()} {
  llvm.return
}

// -----

// Recorded checks that kvc-decompose would not write are refused: a batch without
// arrays, numbers that are no arguments, rows of no tensor.
// expected-error@below {{expected 'kvc.checks' as kvc-decompose writes it}}
llvm.func @batch() attributes {kvc.function_type = () -> (), kvc.checks = {
    batches = [{}], caches = [], uses = [], rows = [], equal_rows = []}} {
  llvm.return
}

// -----

// expected-error@below {{expected 'kvc.checks' as kvc-decompose writes it}}
llvm.func @numbers() attributes {kvc.function_type = () -> (), kvc.checks = {
    batches = [], caches = [array<i64: 7>], uses = [], rows = [], equal_rows = []}} {
  llvm.return
}

// -----

// expected-error@below {{expected 'kvc.checks' as kvc-decompose writes it}}
llvm.func @missing() attributes {kvc.function_type = () -> (), kvc.checks = {}} {
  llvm.return
}
