// Memory of the whole program when several threads decode images that are large and cost much.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
// jpeglib.h uses size_t and FILE without including them.
#include <jpeglib.h>

#include "cli/vig.h"
#include "support/sanitised.h"
#include "support/zip_bytes.h"

namespace vig::test {
namespace {

// All of one colour; its decoder keeps 8 bytes of coefficients for each pixel.
std::string progressive_cmyk(int side) {
  jpeg_compress_struct cinfo = {};
  jpeg_error_mgr errors = {};
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &memory, &size);
  cinfo.image_width = cinfo.image_height = static_cast<JDIMENSION>(side);
  cinfo.input_components = 4;
  cinfo.in_color_space = JCS_CMYK;
  jpeg_set_defaults(&cinfo);
  jpeg_simple_progression(&cinfo);
  jpeg_start_compress(&cinfo, TRUE);
  std::vector<JSAMPLE> row(static_cast<size_t>(side) * 4, 128);
  for (JSAMPROW at = row.data(); cinfo.next_scanline < cinfo.image_height;) {
    jpeg_write_scanlines(&cinfo, &at, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  const std::string bytes(reinterpret_cast<const char*>(memory), size);
  std::free(memory);
  return bytes;
}

uint32_t crc_of_zip(const std::string& data) {
  uint32_t crc = ~0u;
  for (const char c : data) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

// Eight images of 16 Mpx take 1.5 GB at once; the budget for images of this size is 218 MB.
TEST(Hostile, ManyDecodersShareOneBudget) {
  const TempDir dir;
  const std::string model = make_model(dir), data = dir / "data.zip";
  constexpr int kSide = 4096;
  const std::string jpeg = progressive_cmyk(kSide);
  const uint32_t crc = crc_of_zip(jpeg);
  std::vector<ZipFile> files;
  for (int i = 0; i < 8; ++i) {
    files.push_back(
        {.name = (i % 2 ? "cat/" : "dog/") + std::to_string(i) + ".jpg", .data = jpeg, .crc = crc});
  }
  write_file(data, zip_archive(files));
  const auto run = [&](const std::string& threads) {
    return vig({"eval", data, "-m", model, "--threads", threads, "--max-pixels",
                std::to_string(kSide * kSide), "--json"});
  };
  const RunResult many = run("8"), one = run("1");
  EXPECT_EQ(many.exit_code, 0) << many.err;
  EXPECT_EQ(one.exit_code, 0) << one.err;
  const auto results = [](const RunResult& result) {
    return nlohmann::json::parse(result.out).at("confusion");
  };
  EXPECT_EQ(results(many), results(one));
  const uint64_t kept = kSanitised ? 256 : 0;  // MB that the sanitiser keeps of what was freed
  EXPECT_LT(many.peak_bytes, (450 + kept) << 20);
}

}  // namespace
}  // namespace vig::test
