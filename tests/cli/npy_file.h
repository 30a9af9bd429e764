// Arrays of NumPy that the program wrote.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "support/files.h"

namespace vig::test {

// The header of a NumPy file and its values.
struct Array {
  std::string header;
  std::vector<float> values;
};

inline Array read_npy(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t length = static_cast<unsigned char>(bytes[8]) +
                        256 * static_cast<size_t>(static_cast<unsigned char>(bytes[9]));
  EXPECT_EQ((10 + length) % 64, 0u);
  EXPECT_EQ(bytes[9 + length], '\n');
  Array array{bytes.substr(10, length), {}};
  array.values.resize((bytes.size() - 10 - length) / sizeof(float));
  std::memcpy(array.values.data(), bytes.data() + 10 + length, array.values.size() * 4);
  return array;
}

}  // namespace vig::test
