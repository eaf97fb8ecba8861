// RUN: kvc-opt %s -kvc-convert-host-code-to-kernels -canonicalize -cse | FileCheck %s

memref.global "private" constant @table : memref<8xf32> = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]>

// The host knows sizes and hands over the fields of buffers.
// CHECK:       func.func private @f_product_0(index, index, index) attributes {kvc.launch = "f_product_0"}
// CHECK-LABEL: func.func private @f.product(
// CHECK-SAME:    %[[X:[^:]*]]: memref<?x16xbf16, strided<[?, 1], offset: ?>>, %{{.*}}, %[[LAUNCHER:[^:]*]]: index)
// CHECK:         %[[ROWS:.*]] = memref.dim %[[X]], %c0
// CHECK:         %[[BUFFER:.*]], %[[OFFSET:.*]], %{{.*}}, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[X]]
// CHECK:         %[[POINTER:.*]] = memref.extract_aligned_pointer_as_index %[[BUFFER]]
// CHECK:         %[[VALUES:.*]] = memref.alloca() : memref<22xindex>
// CHECK:         memref.store %[[POINTER]], %[[VALUES]][%c0]
// CHECK:         memref.store %[[OFFSET]], %[[VALUES]][%c2]
// CHECK:         %[[COUNT:.*]] = arith.muli %[[ROWS]], %c8
// CHECK:         %[[BLOCKS:.*]] = arith.ceildivui %[[COUNT]], %c256
// CHECK:         call @f_product_0(%[[LAUNCHER]], %[[BLOCKS]], %{{.*}}) : (index, index, index) -> ()
// CHECK-NOT:     linalg
func.func private @f.product(%x: memref<?x16xbf16, strided<[?, 1], offset: ?>>, %w: memref<16x8xbf16>, %y: memref<?x8xf32>)
    attributes {kvc.function_type = () -> ()} {
  linalg.matmul ins(%x, %w : memref<?x16xbf16, strided<[?, 1], offset: ?>>, memref<16x8xbf16>)
      outs(%y : memref<?x8xf32>)
  return
}

// CHECK-LABEL: func.func private @f.add(
func.func private @f.add(%x: memref<4x8xf32>, %at: memref<4xindex>, %y: memref<4x8xf32>)
    attributes {kvc.function_type = () -> ()} {
  %table = memref.get_global @table : memref<8xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x, %table : memref<4x8xf32>, memref<8xf32>) outs(%y : memref<4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %unused: f32):
      %c4 = arith.constant 4 : index
      %row = linalg.index 0 : index
      %place = memref.load %at[%row] : memref<4xindex>
      %fits = arith.cmpi ult, %place, %c4 : index
      cf.assert %fits, "a value that is known too late"
      %c = arith.addf %a, %b : f32
      linalg.yield %c : f32
  }
  return
}

// CHECK-LABEL: func.func private @f.copy(
// CHECK-NOT:     memref.copy
func.func private @f.copy(%x: memref<?xf32>, %y: memref<?xf32>) attributes {kvc.function_type = () -> ()} {
  memref.copy %x, %y : memref<?xf32> to memref<?xf32>
  return
}

// A thread sums up in a register; its element is the last dimension's, then the first's.
// CHECK:       gpu.module @kvc_kernels
// CHECK:       memref.global "private" constant @table
// CHECK-LABEL: gpu.func @f_product_0(
// CHECK-SAME:    %[[X:[^:]*]]: memref<?x16xbf16, strided<[?, 1], offset: ?>>, %[[W:[^:]*]]: memref<16x8xbf16>, %[[Y:[^:]*]]: memref<?x8xf32>, %[[ROWS:[^:]*]]: index) kernel
// CHECK:         %[[TOTAL:.*]] = arith.muli %[[ROWS]], %c8
// CHECK:         scf.for %[[NUMBER:.*]] = %{{.*}} to %[[TOTAL]] step
// CHECK:           %[[J:.*]] = arith.remui %[[NUMBER]], %c8
// CHECK:           %[[I:.*]] = arith.divui %[[NUMBER]], %c8
// CHECK:           %[[INIT:.*]] = memref.load %[[Y]][%[[I]], %[[J]]]
// CHECK:           %[[SUM:.*]] = scf.for %[[K:.*]] = %c0 to %c16 step %c1 iter_args(%[[PART:.*]] = %[[INIT]])
// CHECK:             memref.load %[[X]][%[[I]], %[[K]]]
// CHECK:             memref.load %[[W]][%[[K]], %[[J]]]
// CHECK:             arith.addf %[[PART]], %{{.*}} fastmath<reassoc,contract>
// CHECK:           memref.store %[[SUM]], %[[Y]][%[[I]], %[[J]]]

// Constants are the kernel's own; what nobody reads of the result need not have been written.
// CHECK-LABEL: gpu.func @f_add_0(
// CHECK-SAME:    %[[X:[^:]*]]: memref<4x8xf32>, %[[Y:[^:]*]]: memref<4x8xf32>) kernel
// CHECK:         %[[TABLE:.*]] = memref.get_global @table
// CHECK-NOT:     memref.load %[[Y]]
// CHECK-NOT:     cf.assert
// CHECK:         memref.load %[[TABLE]]
// CHECK-LABEL: gpu.func @f_copy_0(
