//===- WorkList.cpp - the kernel that builds the work list ----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"

#include "kvc/Conversion/WorkList.h"

using namespace mlir;
using namespace kvc;

void kvc::emitWorkListKernel(OpBuilder &b, StringRef name, StringRef phase,
                             const KernelOrigin &origin, AttentionOp op,
                             const KernelShape &shape) {
  KernelSignature signature(op);
  for (StringRef parameter :
       {"batch num_sequences", "batch max_kv_len", "batch query_start", "batch kv_lens",
        "batch page_start", "batch page_stride", "list items", "list merges", "list counts"})
    signature.add(parameter);
  OpBuilder::InsertionGuard guard(b);
  KernelArguments arguments;
  auto kernel = createKernel(b, op.getLoc(), name, origin, "worklist", {1, 1, 1}, 1, 0,
                             signature, arguments);
  kernel->setAttr("kvc.phase", b.getStringAttr(phase));
  auto schedule = cast<GPUScheduleAttr>(op.getScheduleAttr());
  WorkListConfig config{static_cast<int32_t>(shape.stream.getQueryTokens()),
                        static_cast<int32_t>(schedule.getSplit()), op.getModifiers()};
  WorkListArgs args{arguments.get("batch num_sequences"), arguments.get("batch max_kv_len"),
                    arguments.get("batch query_start"),   arguments.get("batch kv_lens"),
                    arguments.get("batch page_start"),    arguments.get("batch page_stride"),
                    arguments.get("list items"),          arguments.get("list merges"),
                    arguments.get("list counts")};
  emitBuildWorkList(b, op.getLoc(), args, config);
  kvtile::ReturnOp::create(b, op.getLoc());
}
