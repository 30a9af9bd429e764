// What the image tests share: where their files are, hashes, tables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/files.h"
#include "support/tree.h"
#include "vig/image/decode.h"
#include "vig/image/image.h"

namespace vig::test {

inline std::filesystem::path data_path(const std::string& name) {
  return std::filesystem::path(kFixtures) / "image" / name;
}

inline std::vector<uint8_t> read_bytes(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  return {text.begin(), text.end()};
}

// FNV-1a, 64 bits.
inline uint64_t hash(std::span<const uint8_t> bytes) {
  uint64_t value = 0xcbf29ce484222325u;
  for (const uint8_t byte : bytes) value = (value ^ byte) * 0x100000001b3u;
  return value;
}

// Rows of a tab-separated file, without its comments (#).
inline std::vector<std::vector<std::string>> read_table(const std::filesystem::path& path) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, '\t');) rows.back().push_back(cell);
  }
  return rows;
}

// As the references were made.
inline constexpr DecodeOptions kAsStored = {.apply_orientation = false};

// An image in which every pixel differs from its neighbours, none of them gray.
inline Image pattern(int width, int height) {
  Image image(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      uint8_t* pixel = image.row(y) + x * 3;
      pixel[0] = static_cast<uint8_t>(x * 37 + y * 11);
      pixel[1] = static_cast<uint8_t>(x * 5 + y * 53 + 70);
      pixel[2] = static_cast<uint8_t>(x * y + 190);
    }
  }
  return image;
}

}  // namespace vig::test
