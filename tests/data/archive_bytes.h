// Archives and images made by hand, honest and hostile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "vig/image/image.h"

namespace vig::test {

using Files = std::map<std::string, std::string>;  // content by name

struct TarFields {
  std::string name;
  uint64_t size = 0;
  char type = '0';
  std::string target = "";
  std::string prefix = "";
  std::string size_field = "";  // instead of the size in octal
  std::string_view magic = std::string_view("ustar\00000", 8);
};

std::string tar_header(const TarFields& fields);    // one block, its checksum right
void seal_tar_header(std::string& tar, size_t at);  // makes the checksum of that block right
std::string tar_padded(std::string data);           // up to whole blocks
std::string tar_end();                              // two blocks
std::string tar_entry(const TarFields& fields, const std::string& data);  // the size is the data's
std::string pax_record(const std::string& key, const std::string& value);
std::string tar_bytes(const Files& files, const std::string& folder = "");

std::string gzip_bytes(std::string_view data);
std::string deflate_bytes(std::string_view data);  // without a header, as zip has it
uint32_t crc_of(std::string_view data);
enum class ZipKind { kStored, kDeflated, kZip64 };
std::string zip_bytes(const Files& files, ZipKind kind, const std::string& folder = "");

void write_files(const std::filesystem::path& folder, const Files& files);

std::string png_bytes(const Image& image);
// A small image of its own for every number.
std::string numbered_png(uint64_t number);

}  // namespace vig::test
