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
  length = k.sub(item.kvEnd, item.kvBegin);

  for (unsigned component : {0u, 1u}) {
    unsigned data = component == 0 ? P::Key : P::Val;
    pageStride[component] = params[data + 1];
    tokenStride[component] = params[data + 3];
    Value offset = k.mul(k.toI64(kvHead), params[data + 2]);
    if (sharesPages()) {
      offset = k.add(offset, k.mul(k.toI64(firstRow), tokenStride[component]));
      passStride[component] = k.mul(tokenStride[component], 2 * rowsPerPass());
    }
    offset = k.add(k.mul(offset, 2), k.mul(k.toI64(chunk), 16));
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
    // Pages before the first key and past the last one may be anybody's.
    token = k.min(k.max(token, item.kvBegin), k.add(item.kvEnd, -1));
    Value page = k.div(token, config.pageSize);
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

Value TileCopies::sourceOf(int component, int64_t pass, Value tile, Value pageId, Value last) {
  if (sharesPages() && pass % passesPerPage() != 0)
    return k.at(last, passStride[component]);
  // Doubling the index, and not the stride, keeps the stride a parameter.
  Value page = k.mul(k.mul(k.toI64(pageId), 2), pageStride[component]);
  Value source = k.at(base[component], page);
  if (sharesPages() && config.pageSize <= config.tile())
    return source;
  Value token = k.mul(tile, config.tile());
  if (!sharesPages())
    token = k.add(k.add(token, firstRow), pass * rowsPerPass());
  Value offset = k.mul(k.toI64(k.rem(token, config.pageSize)), 2);
  return k.at(source, k.mul(offset, tokenStride[component]));
}

void TileCopies::issue(Value tile, Value endTile, Value slotOffset, ValueRange pageIds) {
  k.guarded(k.compare(KernelBuilder::Predicate::slt, tile, endTile), [&] {
    Value slot = k.add(ring, slotOffset);
    // As unsigned numbers: kvBegin <= token < kvEnd.
    Value first = k.sub(k.add(k.mul(tile, config.tile()), firstRow), item.kvBegin);
    Value source[2];
    for (int64_t pass = 0; pass < passes(); ++pass) {
      Value token = k.add(first, pass * rowsPerPass());
      Value isKey = k.compare(KernelBuilder::Predicate::ult, token, length);
      Value bytes = k.select(isKey, k.i32(16), k.i32(0));
      Value destination = destinationOf(slot, pass);
      for (int component : {0, 1}) {
        source[component] =
            sourceOf(component, pass, tile, pageIds[pass / passesPerPage()], source[component]);
        k.copyAsync(k.at(destination, component * config.componentBytes()), source[component],
                    bytes);
      }
    }
  });
  k.commitCopies();
}
