#include "data/archive_bytes.h"

#include <fmt/format.h>
#include <zlib.h>

#include <stdexcept>
#include <vector>

#include "data/images.h"
#include "support/files.h"
#include "support/zip_bytes.h"

namespace vig::test {
namespace {

using namespace std::string_literals;

constexpr size_t kBlock = 512;

std::string compress_bytes(std::string_view data, int window_bits) {
  z_stream stream = {};
  if (deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string out(deflateBound(&stream, data.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("deflate");
  return out;
}

std::string network_order(uint32_t value) {
  const std::string little = little_endian(value, 4);
  return {little.rbegin(), little.rend()};
}

}  // namespace

void seal_tar_header(std::string& tar, size_t at) {
  tar.replace(at + 148, 8, 8, ' ');
  unsigned sum = 0;
  for (size_t i = 0; i < kBlock; ++i) sum += static_cast<unsigned char>(tar[at + i]);
  tar.replace(at + 148, 8, fmt::format("{:06o}", sum) + "\0 "s);
}

std::string tar_header(const TarFields& fields) {
  std::string header(kBlock, '\0');
  const auto put = [&](size_t at, std::string_view text) { header.replace(at, text.size(), text); };
  put(0, fields.name.substr(0, 100));
  put(100, "0000644\0"s + "0001750\0"s + "0001750\0"s);
  put(124, fields.size_field.empty() ? fmt::format("{:011o}", fields.size) : fields.size_field);
  put(136, "14000000000");
  put(156, std::string(1, fields.type));
  put(157, fields.target.substr(0, 100));
  put(257, fields.magic);
  put(345, fields.prefix);
  seal_tar_header(header, 0);
  return header;
}

std::string tar_padded(std::string data) {
  data.resize((data.size() + kBlock - 1) / kBlock * kBlock);
  return data;
}

std::string tar_end() { return std::string(2 * kBlock, '\0'); }

std::string tar_entry(const TarFields& fields, const std::string& data) {
  TarFields sized = fields;
  sized.size = data.size();
  return tar_header(sized) + tar_padded(data);
}

std::string pax_record(const std::string& key, const std::string& value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) ++length;
  return std::to_string(length) + " " + key + "=" + value + "\n";
}

std::string tar_bytes(const Files& files, const std::string& folder) {
  std::string tar;
  for (const auto& [name, data] : files) tar += tar_entry({.name = folder + name}, data);
  return tar + tar_end();
}

std::string gzip_bytes(std::string_view data) { return compress_bytes(data, MAX_WBITS + 16); }
std::string deflate_bytes(std::string_view data) { return compress_bytes(data, -MAX_WBITS); }

uint32_t crc_of(std::string_view data) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
}

std::string zip_bytes(const Files& files, ZipKind kind, const std::string& folder) {
  std::vector<ZipFile> entries;
  for (const auto& [name, data] : files) {
    const bool deflated = kind == ZipKind::kDeflated;
    entries.push_back({.name = folder + name,
                       .data = deflated ? deflate_bytes(data) : data,
                       .method = deflated ? 8 : 0,
                       .zip64 = kind == ZipKind::kZip64,
                       .crc = crc_of(data),
                       .unpacked_size = data.size()});
  }
  return zip_archive(entries, kind == ZipKind::kZip64);
}

void write_files(const std::filesystem::path& folder, const Files& files) {
  for (const auto& [name, data] : files) write_file(folder / name, data);
}

std::string png_bytes(const Image& image) {
  const auto chunk = [](const std::string& content) {  // its kind and its data
    return network_order(static_cast<uint32_t>(content.size() - 4)) + content +
           network_order(crc_of(content));
  };
  std::string rows;
  for (int y = 0; y < image.height; ++y) {
    rows += '\0';  // no filter
    rows.append(reinterpret_cast<const char*>(image.row(y)), image.row_bytes());
  }
  return "\x89PNG\r\n\x1a\n" +
         chunk("IHDR" + network_order(static_cast<uint32_t>(image.width)) +
               network_order(static_cast<uint32_t>(image.height)) + "\x08\x02\0\0\0"s) +
         chunk("IDAT" + compress_bytes(rows, MAX_WBITS)) + chunk("IEND");
}

std::string numbered_png(uint64_t number) {
  return png_bytes(random_image(4 + static_cast<int>(number % 3), 5, number));
}

}  // namespace vig::test
