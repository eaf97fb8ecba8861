//===- AbsorbCost.h - what attention over latent rows costs -----*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes and operations of an attention whose keys or values are products of latent rows, if
// the products are absorbed and if they are computed before it: as functions of the tokens.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_ABSORBCOST_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_ABSORBCOST_H

#include "AttentionElements.h"
#include "TokenFunction.h"

namespace kvc::absorb {

/// What keys and the value of an attention are made of.
struct Parts {
  AttentionElements attention;
  llvm::SmallVector<llvm::SmallVector<Segment>> keys; ///< Of each term; empty if not known.
  std::optional<Segment> value;                       ///< If it is a product.

  /// Whether rows are products, or several parts.
  static bool isProduct(const llvm::SmallVector<Segment> &segments) {
    return segments.size() > 1 || (segments.size() == 1 && segments[0].weight);
  }
  /// Whether any weight is multiplied by; else rows are parts that lie next to each other.
  bool hasWeight() const;
};

/// Tokens of one sequence in a call.
struct Tokens {
  double added; ///< New ones: those of the queries.
  double all;   ///< Past and new ones: those of the keys.
  double pairs; ///< Of a new one and one that it sees.
};

/// Of one sequence in a call: an operation is a multiplication or an addition. What is there
/// is read once, what is made on the way is written once and read once.
struct Cost {
  double bytes = 0; ///< Whatever the tokens: of weights.
  double bytesPerNewToken = 0, bytesPerToken = 0;
  double operationsPerNewToken = 0, operationsPerToken = 0, operationsPerPair = 0;

  double getBytes(const Tokens &tokens) const {
    return bytes + bytesPerNewToken * tokens.added + bytesPerToken * tokens.all;
  }
  double getOperations(const Tokens &tokens) const {
    return operationsPerNewToken * tokens.added + operationsPerToken * tokens.all +
           operationsPerPair * tokens.pairs;
  }
  /// Bytes that memory gives in the time that the call takes, where the processor does
  /// `operationsPerByte` operations in the time of a byte.
  double getTime(const Tokens &tokens, double operationsPerByte) const {
    return std::max(getBytes(tokens), getOperations(tokens) / operationsPerByte);
  }
  /// For a remark.
  std::string toText() const;
};

struct Costs {
  Cost absorb, expand;
};

/// None if a width or a number of heads is not static.
std::optional<Costs> getCosts(Elements &elements, DenseAttentionOp op, const Parts &parts);

/// By how much the columns that each query head multiplies by grow where products are
/// absorbed; none if that is not known, or decided as the rows are cached.
std::optional<double> getGrowth(IndexSpace &space, const Parts &parts);

/// Tokens of the function's sequences; `newTokens` and `pastTokens` where the function takes
/// any number.
Tokens getTokens(Elements &elements, DenseAttentionOp op, const AttentionElements &attention,
                 int64_t newTokens, int64_t pastTokens);

} // namespace kvc::absorb

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_ABSORBCOST_H
