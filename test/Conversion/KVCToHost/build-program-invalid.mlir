// RUN: kvc-opt %s -kvc-build-program -split-input-file -verify-diagnostics

// expected-error@below {{expected at least one public function of kvc operations, found none}}
module {}

// -----

// expected-error@below {{function 'f': expected an entry point called 'f.run', found none}}
module attributes {kvc.functions = [
  {name = "f", needs = "f.needs", run = "f.run", type = () -> ()}]} {
  llvm.func @f.needs(%rt: !llvm.ptr, %bounds: !llvm.ptr, %needs: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

// -----

module attributes {kvc.functions = [
  {name = "f", needs = "f.entry", run = "f.entry", type = () -> ()}]} {
  // expected-error@below {{function 'f': expected entry point 'f.entry' to be a defined llvm.func of type '!llvm.func<i32 (ptr, ptr, ptr)>'}}
  llvm.func @f.entry(%rt: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

// -----

module attributes {kvc.functions = [
  {name = "f", needs = "kvc_program_query", run = "kvc_program_query", type = () -> ()}]} {
  // expected-error@below {{symbol 'kvc_program_query' is reserved for the program}}
  llvm.func @kvc_program_query(%rt: !llvm.ptr, %bounds: !llvm.ptr, %needs: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

// -----

module attributes {kvc.functions = [
  {name = "f", needs = "f.entry", run = "f.entry", type = () -> ()},
  {name = "f", needs = "f.entry", run = "f.entry", type = () -> ()}]} {
  // expected-error@below {{expected different names of functions, got 'f' twice}}
  llvm.func @f.entry(%rt: !llvm.ptr, %bounds: !llvm.ptr, %needs: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

// -----

// Scalars have no place in the interface.
module attributes {kvc.functions = [
  {name = "f", needs = "f.entry", run = "f.entry", type = (tensor<4xf32>, f32) -> ()}]} {
  // expected-error@below {{function 'f', argument 1: expected a ranked tensor or memref, a cache or a batch, got 'f32'}}
  llvm.func @f.entry(%rt: !llvm.ptr, %bounds: !llvm.ptr, %needs: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

// -----

module attributes {kvc.functions = [
  {name = "f", needs = "f.entry", run = "f.entry", type = (tensor<*xf32>) -> ()}]} {
  // expected-error@below {{function 'f', argument 0: expected a ranked tensor or memref, a cache or a batch, got 'tensor<*xf32>'}}
  llvm.func @f.entry(%rt: !llvm.ptr, %bounds: !llvm.ptr, %needs: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

// -----

// The caller owns memory: a result cannot be a reference.
module attributes {kvc.functions = [
  {name = "f", needs = "f.entry", run = "f.entry", type = () -> memref<4xf32>}]} {
  // expected-error@below {{function 'f', result 0: expected a ranked tensor, got 'memref<4xf32>'}}
  llvm.func @f.entry(%rt: !llvm.ptr, %bounds: !llvm.ptr, %needs: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

// -----

module attributes {kvc.functions = [
  {name = "f", needs = "f.entry", run = "f.entry", type = (tensor<1x1x1x1x1x1x1xf32>) -> ()}]} {
  // expected-error@below {{function 'f', argument 0: expected a rank of at most 6, got 7 in 'tensor<1x1x1x1x1x1x1xf32>'}}
  llvm.func @f.entry(%rt: !llvm.ptr, %bounds: !llvm.ptr, %needs: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

// -----

module attributes {kvc.functions = [
  {name = "f", needs = "f.entry", run = "f.entry", type = (tensor<4xindex>) -> ()}]} {
  // expected-error@below {{function 'f', argument 0: expected elements of f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i1, i4, i8, i32 or i64, got 'index' in 'tensor<4xindex>'}}
  llvm.func @f.entry(%rt: !llvm.ptr, %bounds: !llvm.ptr, %needs: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

// -----

module attributes {kvc.functions = [
  {name = "f", needs = "f.entry", run = "f.entry", type = (memref<4x4xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>>) -> ()}]} {
  // expected-error@below {{function 'f', argument 0: expected a layout with strides, got 'memref<4x4xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>>'}}
  llvm.func @f.entry(%rt: !llvm.ptr, %bounds: !llvm.ptr, %needs: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

// -----

module attributes {kvc.functions = [
  {name = "f", needs = "f.entry", run = "f.entry", type = (memref<4xf32, strided<[1], offset: 8>>) -> ()}]} {
  // expected-error@below {{function 'f', argument 0: expected an offset of 0 or '?', got 8 in 'memref<4xf32, strided<[1], offset: 8>>'}}
  llvm.func @f.entry(%rt: !llvm.ptr, %bounds: !llvm.ptr, %needs: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}
