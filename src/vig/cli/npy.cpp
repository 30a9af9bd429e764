#include "vig/cli/npy.h"

#include <fmt/ranges.h>

#include <bit>
#include <string_view>

#include "vig/base/error.h"

namespace vig::cli {
namespace {

// The number of rows is known at the end, so the header has a fixed size with room for it.
constexpr size_t kHeaderBytes = 256;

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

// Magic, version 1.0, the length of the rest, a Python dictionary, spaces, a line end.
std::string NpyWriter::header() const {
  const char* order = std::endian::native == std::endian::little ? "<" : ">";
  std::string shape = fmt::format("{},", rows_);
  for (int side : shape_) shape += fmt::format(" {},", side);
  using namespace std::string_view_literals;
  std::string text("\x93NUMPY\x01\x00"sv);
  constexpr size_t rest = kHeaderBytes - 10;
  text += static_cast<char>(rest & 0xff);
  text += static_cast<char>(rest >> 8);
  text += fmt::format("{{'descr': '{}f4', 'fortran_order': False, 'shape': ({})}}", order, shape);
  text.resize(kHeaderBytes - 1, ' ');
  return text + "\n";
}

void NpyWriter::finish(bool whole) {
  file_.rewrite_begin(header());
  file_.finish(whole);
}

}  // namespace vig::cli
