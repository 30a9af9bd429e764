#include "vig/cli/npy.h"

#include <fmt/ranges.h>

#include <bit>
#include <charconv>
#include <limits>
#include <string_view>

#include "vig/base/error.h"
#include "vig/cli/output.h"

namespace vig::cli {
namespace {

// The number of rows is known at the end, so the header has a fixed size with room for it.
constexpr size_t kHeaderBytes = 256;

// Magic, version 1.0, the length of the rest, a Python dictionary, spaces, a line end.
std::string npy_header(int64_t rows, const std::vector<int>& row_shape) {
  const char* order = std::endian::native == std::endian::little ? "<" : ">";
  std::string shape = fmt::format("{},", rows);
  for (int side : row_shape) shape += fmt::format(" {},", side);
  using namespace std::string_view_literals;
  std::string text("\x93NUMPY\x01\x00"sv);
  constexpr size_t rest = kHeaderBytes - 10;
  text += static_cast<char>(rest & 0xff);
  text += static_cast<char>(rest >> 8);
  text += fmt::format("{{'descr': '{}f4', 'fortran_order': False, 'shape': ({})}}", order, shape);
  text.resize(kHeaderBytes - 1, ' ');
  return text + "\n";
}

size_t row_bytes(const std::vector<int>& shape) {
  size_t bytes = sizeof(float);
  for (const int side : shape) bytes *= static_cast<size_t>(side);
  return bytes;
}

std::string_view as_bytes(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// What npy_header has written; false where it was something else.
bool parse_npy_header(const std::string& header, int64_t& rows, std::vector<int>& row_shape) {
  constexpr std::string_view kShape = "'shape': (";
  const size_t at = header.find(kShape);
  if (at == std::string::npos) return false;
  std::vector<int64_t> sides;
  const char* next = header.data() + at + kShape.size();
  const char* const end = header.data() + header.size();
  for (;;) {
    int64_t side = 0;
    const auto parsed = std::from_chars(next, end, side);
    if (parsed.ec != std::errc() || side < 0 || side > std::numeric_limits<int>::max()) break;
    sides.push_back(side);
    next = parsed.ptr;
    while (next < end && (*next == ',' || *next == ' ')) ++next;
  }
  if (sides.empty()) return false;
  rows = sides.front();
  row_shape.assign(sides.begin() + 1, sides.end());
  return npy_header(rows, row_shape) == header;
}

}  // namespace

NpyWriter::NpyWriter(const std::string& path) : path_(path), file_(path) {
  file_.write(std::string(kHeaderBytes, ' '));
}

void NpyWriter::append(const std::vector<int>& shape, const std::vector<float>& values) {
  begin_row(shape);
  write(values);
}

void NpyWriter::begin_row(const std::vector<int>& shape) {
  if (rows_ == 0) shape_ = shape;
  if (shape != shape_) fail("{}: rows of different shapes", path_);
  ++rows_;
}

void NpyWriter::write(std::span<const float> values) {
  file_.write(values.data(), values.size_bytes());
}

void NpyWriter::finish(bool whole) {
  file_.rewrite_begin(npy_header(rows_, shape_));
  file_.finish(whole);
}

NpyRows::NpyRows(const std::string& path, bool resume, int64_t rows)
    : file_(path, resume), rows_(rows) {
  if (rows == 0) {
    file_.cut(0);
    return;
  }
  int64_t there = 0;
  const bool good =
      file_.size() >= kHeaderBytes &&
      parse_npy_header(file_.read(0, kHeaderBytes), there, shape_) && there >= rows &&
      row_bytes(shape_) > 0 &&
      static_cast<uint64_t>(rows) <= (file_.size() - kHeaderBytes) / row_bytes(shape_);
  if (!good) fail("{}: expected an array of at least {} rows to continue", file_.partial(), rows);
  file_.cut(kHeaderBytes + static_cast<uint64_t>(rows) * row_bytes(shape_));
  file_.rewrite(0, npy_header(rows_, shape_));
}

void NpyRows::append(const std::vector<int>& shape, const Parts& parts) {
  if (rows_ == 0) {
    shape_ = shape;
    file_.append(npy_header(0, shape_));
  }
  if (shape != shape_) fail("{}: rows of different shapes", file_.path());
  parts([&](std::span<const float> values) { file_.append(as_bytes(values)); });
  file_.rewrite(0, npy_header(++rows_, shape_));
}

void NpyRows::check_last(const std::vector<int>& shape, const Parts& parts) const {
  bool same = shape == shape_ && rows_ > 0;
  uint64_t at = same ? file_.size() - row_bytes(shape_) : 0;
  parts([&](std::span<const float> values) {
    same = same && file_.read(at, values.size_bytes()) == as_bytes(values);
    at += values.size_bytes();
  });
  if (same) return;
  fail(
      "{}: its last row is not what this command gives: it was made by another model, with other "
      "options or of other images; remove it, or give another --out",
      file_.partial());
}

void NpyRows::finish(bool whole) {
  if (whole) {
    if (rows_ == 0) file_.append(npy_header(0, {}));
    return file_.commit();
  }
  if (rows_ > 0) complain(fmt::format("the rows of what was finished are in {}", file_.partial()));
}

}  // namespace vig::cli
