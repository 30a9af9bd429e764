#include "vig/cli/npy.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "vig/base/error.h"

namespace vig::cli {
namespace {

// The number of rows is known at the end, so the header has a fixed size with room for it.
constexpr size_t kHeaderBytes = 256;

}  // namespace

NpyWriter::NpyWriter(const std::string& path)
    : path_(path),
      temporary_(fmt::format("{}.{}.tmp", path, getpid())),
      file_(std::fopen(temporary_.c_str(), "wb"), std::fclose) {
  if (file_ == nullptr) {
    temporary_.clear();
    failed();
  }
  write(std::string(kHeaderBytes, ' ').data(), kHeaderBytes);
}

NpyWriter::~NpyWriter() {
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

void NpyWriter::failed() const {
  fail("{}: cannot write the file: {}", path_, std::generic_category().message(errno));
}

void NpyWriter::write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, file_.get()) != bytes) failed();
}

void NpyWriter::append(const std::vector<int>& shape, const std::vector<float>& values) {
  if (rows_ == 0) shape_ = shape;
  if (shape != shape_) fail("{}: rows of different shapes", path_);
  write(values.data(), values.size() * sizeof(float));
  ++rows_;
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

void NpyWriter::finish() {
  const std::string text = header();
  if (std::fseek(file_.get(), 0, SEEK_SET) != 0) failed();
  write(text.data(), text.size());
  if (std::fclose(file_.release()) != 0) failed();
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) fail("{}: cannot write the file: {}", path_, error.message());
  temporary_.clear();
}

}  // namespace vig::cli
