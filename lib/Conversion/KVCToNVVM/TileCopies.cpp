//===- TileCopies.cpp - from pages to the ring of tiles -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot of the ring holds a tile of keys and below it one of values, each with
// one row a token. The 16-byte chunks of row r are permuted: chunk c lies at
// c ^ (r % 8), so that both the copies and ldmatrix touch all banks alike.
//
//   thread t copies chunk t % chunks of the rows t / chunks + pass * rowsPerPass
//
// A row that is no key of the item is copied with size 0, which writes zeros: a
// probability of 0 times a NaN that was left in the page would be NaN. Its
// address is taken from a page that the item does own.
//===----------------------------------------------------------------------===//
#include "AttentionKernel.h"

using namespace mlir;
using namespace kvc;

bool TileCopies::sharesPages() const {
  int64_t page = config.pageSize, tile = config.tile();
  return page % rowsPerPass() == 0 && (tile % page == 0 || page % tile == 0);
}

int64_t TileCopies::passesPerPage() const {
  if (!sharesPages())
    return 1;
  return std::min(config.pageSize, config.tile()) / rowsPerPass();
}

int64_t TileCopies::numPageIds() const { return passes() / passesPerPage(); }

TileCopies::TileCopies(KernelBuilder &k, const AttentionConfig &config, ValueRange params,
                       const Lane &lane, const WorkItemValues &item, Value kvHead, Value ring)
    : k(k), config(config), item(item), ring(ring) {
  using P = AttentionParam;
  firstRow = k.div(lane.thread, chunks());
  chunk = k.rem(lane.thread, chunks());
  pageTable = k.element(params[P::PageIds], item.firstPage, 4);
  // Both are used only if there is a key.
  firstPage = k.div(item.kvBegin, config.pageSize);
  lastPage = k.div(k.add(item.kvEnd, -1), config.pageSize);
  length = k.sub(item.kvEnd, item.kvBegin);

  for (unsigned component : {0u, 1u}) {
    unsigned data = component == 0 ? P::Key : P::Val;
    Value stride[3];
    for (unsigned i = 0; i < 3; ++i)
      stride[i] = k.mul(params[data + 1 + i], 2); // elements to bytes
    pageStride[component] = stride[0];
    tokenStride[component] = stride[2];
    Value offset = k.add(k.mul(k.toI64(kvHead), stride[1]), k.mul(k.toI64(chunk), 16));
    if (sharesPages()) {
      offset = k.add(offset, k.mul(k.toI64(firstRow), stride[2]));
      passStride[component] = k.mul(stride[2], rowsPerPass());
    }
    base[component] = k.at(params[data], offset);
  }
}

SmallVector<Value> TileCopies::loadPageIds(Value tile, Value endTile) {
  OpBuilder &b = k.b;
  SmallVector<Type> types(numPageIds(), k.i32Type());
  auto branch = scf::IfOp::create(b, k.loc, types,
                                  k.compare(KernelBuilder::Predicate::slt, tile, endTile),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> ids;
  for (int64_t i = 0; i < numPageIds(); ++i) {
    Value token = k.mul(tile, config.tile());
    if (sharesPages())
      token = k.add(token, i * config.pageSize);
    else
      token = k.add(k.add(token, firstRow), i * rowsPerPass());
    Value page = k.div(token, config.pageSize);
    page = k.min(k.max(page, firstPage), lastPage);
    ids.push_back(k.loadInvariant(k.i32Type(), k.element(pageTable, page, 4), 4));
  }
  scf::YieldOp::create(b, k.loc, ids);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, k.loc, SmallVector<Value>(numPageIds(), k.i32(0)));
  return branch.getResults();
}

Value TileCopies::destinationOf(Value slot, int64_t pass) {
  auto rowAddress = [&](Value row) {
    Value position = k.bitXor(chunk, k.bitAnd(row, 7));
    return k.add(slot, k.add(k.mul(row, config.rowBytes()), k.mul(position, 16)));
  };
  // The permutation repeats every 8 rows.
  if (rowsPerPass() % 8 == 0)
    return k.at(k.toShared(rowAddress(firstRow)), pass * rowsPerPass() * config.rowBytes());
  return k.toShared(rowAddress(k.add(firstRow, pass * rowsPerPass())));
}

void TileCopies::copyComponent(int component, Value tile, Value slot, ValueRange pageIds,
                               ValueRange sizes) {
  Value source;
  for (int64_t pass = 0; pass < passes(); ++pass) {
    Value page = k.mul(k.toI64(pageIds[pass / passesPerPage()]), pageStride[component]);
    if (!sharesPages()) {
      Value token = k.add(k.add(k.mul(tile, config.tile()), firstRow), pass * rowsPerPass());
      Value offset =
          k.mul(k.toI64(k.rem(token, config.pageSize)), tokenStride[component]);
      source = k.at(base[component], k.add(page, offset));
    } else if (pass % passesPerPage() == 0) {
      source = k.at(base[component], page);
      if (config.pageSize > config.tile()) {
        Value token = k.rem(k.mul(tile, config.tile()), config.pageSize);
        source = k.at(source, k.mul(k.toI64(token), tokenStride[component]));
      }
    } else {
      source = k.at(source, passStride[component]);
    }
    Value destination =
        k.at(destinationOf(slot, pass), component * config.componentBytes());
    k.copyAsync(destination, source, sizes[pass]);
  }
}

void TileCopies::issue(Value tile, Value endTile, Value slotOffset, ValueRange pageIds) {
  k.guarded(k.compare(KernelBuilder::Predicate::slt, tile, endTile), [&] {
    Value slot = k.add(ring, slotOffset);
    // As unsigned numbers: kvBegin <= token < kvEnd.
    Value first = k.sub(k.add(k.mul(tile, config.tile()), firstRow), item.kvBegin);
    SmallVector<Value> sizes;
    for (int64_t pass = 0; pass < passes(); ++pass) {
      Value token = k.add(first, pass * rowsPerPass());
      Value isKey = k.compare(KernelBuilder::Predicate::ult, token, length);
      sizes.push_back(k.select(isKey, k.i32(16), k.i32(0)));
    }
    copyComponent(0, tile, slot, pageIds, sizes);
    copyComponent(1, tile, slot, pageIds, sizes);
  });
  k.commitCopies();
}
