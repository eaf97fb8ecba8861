//===- Images.cpp - the contents of caches as plain rows ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where each element of a token lies in a page, by the formulas of abi.h. In each of
// them the place is a sum of what the token says and what the element of the row says,
// so that the second is computed once for all tokens.
//===----------------------------------------------------------------------===//
#include "CUDA/Device.h"
#include "CacheType.h"
#include "CheckCall.h"
#include "Status.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

using namespace kvc::rt;

using Long = long long; // what %lld takes

namespace {
/// Tokens of a packed layout whose words have those of one block side by side.
constexpr int64_t kKeyTokens = 16;
constexpr int64_t kByteTokens = 4;

/// One page of a component: a stretch of `run` elements for each head and, if rows are
/// stretches, each token.
struct PageShape {
  int64_t elementSize;
  int64_t run;
  int64_t heads, headStride;
  int64_t tokens, tokenStride; ///< 1 and 0 where a stretch is the image of a head.
};

/// The order of the elements of one head's image.
class Image {
public:
  explicit Image(const kvc_component_type_t &component);

  /// Where token `token` of a page starts, in elements.
  int64_t getTokenPlace(int64_t token, int64_t tokenStride) const;
  /// Copies a token's row from or to the image at `image`.
  void readRow(const char *image, char *row) const { (this->*reader)(image, row); }
  void writeRow(char *image, const char *row) const { (this->*writer)(image, row); }

private:
  bool isPackedNibbles() const {
    return component.dtype == KVC_DTYPE_I4X2 && (component.layout == KVC_LAYOUT_PACKED_KEY ||
                                                 component.layout == KVC_LAYOUT_PACKED_VALUE);
  }
  bool isBytes() const { return kvc_dtype_size(component.dtype) == 1; }
  int64_t getPair() const { return component.dtype == KVC_DTYPE_BF16 ? 2 : 1; }
  int64_t getColumn(int64_t w) const;
  int64_t getNibble(int64_t w) const;

  void readWhole(const char *image, char *row) const;
  void writeWhole(char *image, const char *row) const;
  void readNibbles(const char *image, char *row) const;
  void writeNibbles(char *image, const char *row) const;
  template <size_t size>
  void readElements(const char *image, char *row) const;
  template <size_t size>
  void writeElements(char *image, const char *row) const;

  const kvc_component_type_t &component;
  /// Of each element of a row its place from the token's, in elements; of packed i4x2,
  /// of each integer, in halves of a byte.
  std::vector<int64_t> columns;
  void (Image::*reader)(const char *, char *) const;
  void (Image::*writer)(char *, const char *) const;
};
} // namespace

//===----------------------------------------------------------------------===//
// The formulas
//===----------------------------------------------------------------------===//

int64_t Image::getTokenPlace(int64_t token, int64_t tokenStride) const {
  int64_t width = component.width;
  int64_t inBlock = token % kKeyTokens, block = token / kKeyTokens * kKeyTokens * width;
  switch (component.layout) {
  case KVC_LAYOUT_PACKED_KEY:
    if (isPackedNibbles())
      return block + inBlock * 4;
    if (isBytes())
      return block + inBlock / 4 * 16 + inBlock % 4 * 2;
    return block + inBlock * getPair();
  case KVC_LAYOUT_LANE_KEY:
    return block + inBlock;
  case KVC_LAYOUT_PACKED_VALUE: {
    int64_t lane = token % kByteTokens, quad = token / kByteTokens * kByteTokens * width;
    if (isPackedNibbles())
      return quad + lane % 2 * 2 + lane / 2;
    if (isBytes())
      return quad + lane / 2 * 8 + lane % 2;
    return token / getPair() * getPair() * width + token % getPair();
  }
  default:
    return token * tokenStride;
  }
}

/// The place of element `w` of a row whose elements are not of 4 bits.
int64_t Image::getColumn(int64_t w) const {
  if (component.layout == KVC_LAYOUT_LANE_KEY)
    return w * kKeyTokens;
  if (component.layout == KVC_LAYOUT_PACKED_KEY) {
    if (isBytes())
      return w / 4 * 64 + w % 4 / 2 * 8 + w % 2;
    return w / getPair() * kKeyTokens * getPair() + w % getPair();
  }
  return isBytes() ? w / 4 * 16 + w % 4 * 2 : w * getPair();
}

/// The place of integer `w` of a row, in halves of a byte.
int64_t Image::getNibble(int64_t w) const {
  int64_t inWord = w % 8;
  if (component.layout == KVC_LAYOUT_PACKED_KEY) {
    int64_t half = inWord / 2 + inWord % 2 * 4; // 0, 2, 4, 6, 1, 3, 5, 7
    return w / 8 * 2 * 64 + half;
  }
  return 2 * (w / 8 * 16 + inWord % 4 * 4) + inWord / 4;
}

Image::Image(const kvc_component_type_t &component)
    : component(component), reader(&Image::readWhole), writer(&Image::writeWhole) {
  if (component.layout == KVC_LAYOUT_ROW_MAJOR)
    return;
  if (isPackedNibbles()) {
    for (int64_t w = 0; w < 2 * int64_t{component.width}; ++w)
      columns.push_back(getNibble(w));
    reader = &Image::readNibbles;
    writer = &Image::writeNibbles;
    return;
  }
  for (int64_t w = 0; w < component.width; ++w)
    columns.push_back(getColumn(w));
  switch (kvc_dtype_size(component.dtype)) {
  case 1:
    reader = &Image::readElements<1>;
    writer = &Image::writeElements<1>;
    break;
  case 2:
    reader = &Image::readElements<2>;
    writer = &Image::writeElements<2>;
    break;
  case 4:
    reader = &Image::readElements<4>;
    writer = &Image::writeElements<4>;
    break;
  default:
    reader = &Image::readElements<8>;
    writer = &Image::writeElements<8>;
    break;
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void Image::readWhole(const char *image, char *row) const {
  std::memcpy(row, image,
              static_cast<size_t>(component.width) * kvc_dtype_size(component.dtype));
}

void Image::writeWhole(char *image, const char *row) const {
  std::memcpy(image, row,
              static_cast<size_t>(component.width) * kvc_dtype_size(component.dtype));
}

template <size_t size>
void Image::readElements(const char *image, char *row) const {
  for (int64_t column : columns) {
    std::memcpy(row, image + column * static_cast<int64_t>(size), size);
    row += size;
  }
}

template <size_t size>
void Image::writeElements(char *image, const char *row) const {
  for (int64_t column : columns) {
    std::memcpy(image + column * static_cast<int64_t>(size), row, size);
    row += size;
  }
}

void Image::readNibbles(const char *image, char *row) const {
  for (size_t w = 0; w < columns.size(); w += 2) {
    auto get = [&](int64_t place) { return image[place / 2] >> (place % 2 * 4) & 15; };
    *row++ = static_cast<char>(get(columns[w]) | get(columns[w + 1]) << 4);
  }
}

/// Both halves of each byte are of this token, so all of them are written.
void Image::writeNibbles(char *image, const char *row) const {
  for (size_t w = 0; w < columns.size(); ++w) {
    char &byte = image[columns[w] / 2];
    int code = row[w / 2] >> (w % 2 * 4) & 15;
    byte = static_cast<char>(columns[w] % 2 == 0 ? (byte & 0xf0) | code
                                                 : (byte & 0x0f) | code << 4);
  }
}

//===----------------------------------------------------------------------===//
// Pages on a device
//===----------------------------------------------------------------------===//

namespace {
/// A copy of one page of a component, without the gaps that its strides leave: what
/// lies in those belongs to others.
class PageCopy {
public:
  explicit PageCopy(const PageShape &shape);

  /// The shape of the copy.
  const PageShape &getShape() const { return dense; }
  char *data() { return bytes.data(); }
  kvc_status_t download(const Device &device, const char *page);
  kvc_status_t upload(const Device &device, char *page);

private:
  template <typename Body>
  kvc_status_t forEachPiece(Body body);

  PageShape shape, dense;
  std::vector<char> bytes;
};
} // namespace

PageCopy::PageCopy(const PageShape &shape) : shape(shape), dense(shape) {
  // The dimensions keep their order, so that a page without gaps is one piece.
  bool tokensInside =
      shape.tokens == 1 || shape.heads == 1 || shape.tokenStride <= shape.headStride;
  dense.tokenStride = tokensInside ? shape.run : shape.run * shape.heads;
  dense.headStride = tokensInside ? shape.run * shape.tokens : shape.run;
  bytes.resize(static_cast<size_t>(shape.run * shape.tokens * shape.heads) *
               static_cast<size_t>(shape.elementSize));
}

/// Calls `body` with the place of each contiguous piece in the page and in the copy, and
/// with its size, in bytes.
template <typename Body>
kvc_status_t PageCopy::forEachPiece(Body body) {
  struct Axis {
    int64_t size, stride, denseStride;
  } axes[2] = {{shape.tokens, shape.tokenStride, dense.tokenStride},
               {shape.heads, shape.headStride, dense.headStride}};
  if (dense.headStride < dense.tokenStride)
    std::swap(axes[0], axes[1]);
  int64_t piece = shape.run;
  for (Axis &axis : axes) {
    if (axis.size > 1 && axis.stride != piece)
      break;
    piece *= axis.size;
    axis.size = 1;
  }
  for (int64_t i = 0; i < axes[1].size; ++i)
    for (int64_t j = 0; j < axes[0].size; ++j)
      KVC_RETURN_IF_FAILED(
          body((i * axes[1].stride + j * axes[0].stride) * shape.elementSize,
               (i * axes[1].denseStride + j * axes[0].denseStride) * shape.elementSize,
               static_cast<uint64_t>(piece * shape.elementSize)));
  return KVC_STATUS_OK;
}

static CUdeviceptr getAddress(const char *data) {
  return static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(data));
}

kvc_status_t PageCopy::download(const Device &device, const char *page) {
  return forEachPiece([&](int64_t place, int64_t copy, uint64_t size) {
    return device.download(bytes.data() + copy, getAddress(page + place), size);
  });
}

kvc_status_t PageCopy::upload(const Device &device, char *page) {
  return forEachPiece([&](int64_t place, int64_t copy, uint64_t size) {
    return device.upload(getAddress(page + place), bytes.data() + copy, size);
  });
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

namespace {
/// A checked call of kvc_cache_read or kvc_cache_write.
struct Transfer {
  Transfer(const kvc_cache_type_t &type, const kvc_cache_view_t &view, int32_t index,
           const int64_t *slots, int64_t numSlots);

  /// Where the page of slot i begins.
  char *getPage(int64_t i) const {
    return static_cast<char *>(view.data) +
           slots[i] / pageSize * view.page_stride * shape.elementSize;
  }
  /// The first slot after i that is of another page.
  int64_t findNextPage(int64_t i) const;
  /// Calls `body(image, row)` with each head of the slots from `begin` to `end` of one
  /// page, which lies at `page`.
  template <typename Char, typename Row, typename Body>
  void forEachRow(const PageShape &shape, Char *page, int64_t begin, int64_t end, Row *rows,
                  Body body) const;

  const kvc_component_view_t &view;
  const int64_t pageSize;
  const int64_t *const slots;
  const int64_t numSlots;
  const Image image;
  PageShape shape;
  int64_t rowBytes;
};
} // namespace

Transfer::Transfer(const kvc_cache_type_t &type, const kvc_cache_view_t &cache, int32_t index,
                   const int64_t *slots, int64_t numSlots)
    : view(cache.components[index]), pageSize(type.page_size), slots(slots), numSlots(numSlots),
      image(type.components[index]) {
  const kvc_component_type_t &component = type.components[index];
  bool isRowMajor = component.layout == KVC_LAYOUT_ROW_MAJOR;
  shape.elementSize = kvc_dtype_size(component.dtype);
  shape.run = isRowMajor ? component.width : pageSize * component.width;
  shape.heads = component.heads;
  shape.headStride = view.head_stride;
  shape.tokens = isRowMajor ? pageSize : 1;
  shape.tokenStride = isRowMajor ? view.token_stride : 0;
  rowBytes = component.width * shape.elementSize;
}

int64_t Transfer::findNextPage(int64_t i) const {
  int64_t page = slots[i] / pageSize;
  while (i < numSlots && slots[i] / pageSize == page)
    ++i;
  return i;
}

template <typename Char, typename Row, typename Body>
void Transfer::forEachRow(const PageShape &shape, Char *page, int64_t begin, int64_t end,
                          Row *rows, Body body) const {
  for (int64_t i = begin; i < end; ++i) {
    int64_t place = image.getTokenPlace(slots[i] % pageSize, shape.tokenStride);
    for (int64_t head = 0; head < shape.heads; ++head)
      body(page + (place + head * shape.headStride) * shape.elementSize,
           rows + (i * shape.heads + head) * rowBytes);
  }
}

static kvc_status_t readRows(const Transfer &transfer, const Device *device, char *rows) {
  auto read = [&](const char *image, char *row) { transfer.image.readRow(image, row); };
  if (!device) {
    for (int64_t i = 0, end; i < transfer.numSlots; i = end) {
      end = transfer.findNextPage(i);
      transfer.forEachRow(transfer.shape, transfer.getPage(i), i, end, rows, read);
    }
    return KVC_STATUS_OK;
  }
  PageCopy copy(transfer.shape);
  KVC_RETURN_IF_FAILED(device->synchronize());
  for (int64_t i = 0, end; i < transfer.numSlots; i = end) {
    end = transfer.findNextPage(i);
    KVC_RETURN_IF_FAILED(copy.download(*device, transfer.getPage(i)));
    transfer.forEachRow(copy.getShape(), copy.data(), i, end, rows, read);
  }
  return KVC_STATUS_OK;
}

static kvc_status_t writeRows(const Transfer &transfer, const Device *device,
                              const char *rows) {
  auto write = [&](char *image, const char *row) { transfer.image.writeRow(image, row); };
  if (!device) {
    for (int64_t i = 0, end; i < transfer.numSlots; i = end) {
      end = transfer.findNextPage(i);
      transfer.forEachRow(transfer.shape, transfer.getPage(i), i, end, rows, write);
    }
    return KVC_STATUS_OK;
  }
  // One page at a time in the whole process, so that no other call changes it between
  // the two copies.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  PageCopy copy(transfer.shape);
  KVC_RETURN_IF_FAILED(device->synchronize());
  for (int64_t i = 0, end; i < transfer.numSlots; i = end) {
    end = transfer.findNextPage(i);
    KVC_RETURN_IF_FAILED(copy.download(*device, transfer.getPage(i)));
    transfer.forEachRow(copy.getShape(), copy.data(), i, end, rows, write);
    KVC_RETURN_IF_FAILED(copy.upload(*device, transfer.getPage(i)));
  }
  return KVC_STATUS_OK;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static kvc_status_t checkComponentIndex(const kvc_cache_type_t &type, int32_t index) {
  if (index < 0 || index >= type.num_components)
    return fail(KVC_STATUS_INVALID_ARGUMENT, "expected a component from 0 to %d, got %d",
                type.num_components - 1, index);
  const kvc_component_type_t &component = type.components[index];
  if (component.layout == KVC_LAYOUT_STATIC)
    return fail(KVC_STATUS_UNSUPPORTED,
                "component '%s': expected one with rows of tokens, got a static one: read and "
                "write its [%d][%d] elements at the view's data, on a device by "
                "kvc_device_download and kvc_device_upload",
                component.name, component.heads, component.width);
  return KVC_STATUS_OK;
}

static kvc_status_t checkSlots(const kvc_cache_type_t &type, const kvc_cache_view_t &view,
                               const int64_t *slots, int64_t numSlots) {
  for (int64_t i = 0; i < numSlots; ++i)
    if (slots[i] < 0 || slots[i] / type.page_size >= view.num_pages)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "slot %lld: expected one of %lld pages of %d tokens, got %lld", Long{i},
                  Long{view.num_pages}, type.page_size, Long{slots[i]});
  return KVC_STATUS_OK;
}

static kvc_status_t checkTransfer(const kvc_cache_type_t *type, const kvc_cache_view_t *view,
                                  int32_t index, const int64_t *slots, int64_t numSlots,
                                  const void *rows, const char *rowsName) {
  if (!type || !view)
    return fail(KVC_STATUS_INVALID_ARGUMENT, "expected %s, got null", !type ? "type" : "view");
  KVC_RETURN_IF_FAILED(checkCacheType(*type));
  KVC_RETURN_IF_FAILED(checkComponentIndex(*type, index));
  KVC_RETURN_IF_FAILED(checkCache(ArgContext::none(), {0, view, type}, /*alignment=*/0));
  if (numSlots < 0)
    return fail(KVC_STATUS_INVALID_ARGUMENT, "expected num_slots to be at least 0, got %lld",
                Long{numSlots});
  if (numSlots > 0 && (!slots || !rows))
    return fail(KVC_STATUS_INVALID_ARGUMENT, "expected %s of %lld tokens, got null",
                !slots ? "slots" : rowsName, Long{numSlots});
  return checkSlots(*type, *view, slots, numSlots);
}

/// Finds the device of a handle, null for the host.
static kvc_status_t findDevice(kvc_device_t *handle, std::shared_ptr<Device> &device) {
  if (handle && !(device = getDevices().find(handle)))
    return KVC_STATUS_INVALID_ARGUMENT;
  return KVC_STATUS_OK;
}

extern "C" {

kvc_status_t kvc_cache_read(const kvc_cache_type_t *type, const kvc_cache_view_t *view,
                            kvc_device_t *device, int32_t component, const int64_t *slots,
                            int64_t num_slots, void *out_rows) {
  return guarded("kvc_cache_read", [&]() -> kvc_status_t {
    std::shared_ptr<Device> object;
    KVC_RETURN_IF_FAILED(
        checkTransfer(type, view, component, slots, num_slots, out_rows, "out_rows"));
    KVC_RETURN_IF_FAILED(findDevice(device, object));
    return readRows(Transfer(*type, *view, component, slots, num_slots), object.get(),
                    static_cast<char *>(out_rows));
  });
}

kvc_status_t kvc_cache_write(const kvc_cache_type_t *type, const kvc_cache_view_t *view,
                             kvc_device_t *device, int32_t component, const int64_t *slots,
                             int64_t num_slots, const void *rows) {
  return guarded("kvc_cache_write", [&]() -> kvc_status_t {
    std::shared_ptr<Device> object;
    KVC_RETURN_IF_FAILED(checkTransfer(type, view, component, slots, num_slots, rows, "rows"));
    KVC_RETURN_IF_FAILED(findDevice(device, object));
    return writeRows(Transfer(*type, *view, component, slots, num_slots), object.get(),
                     static_cast<const char *>(rows));
  });
}

} // extern "C"
