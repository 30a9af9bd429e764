// A JPEG file opened with libjpeg-turbo: accurate integer DCT and smooth chroma, as Pillow decodes.
#pragma once

#include <cstddef>
#include <cstdio>
// jpeglib.h uses size_t and FILE without including them.
#include <jpeglib.h>

#include <csetjmp>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/file_bytes.h"
#include "vig/image/formats.h"

namespace vig {

// libjpeg reports errors by longjmp, so no object with a destructor may live in a frame between
// `guarded` and libjpeg.
class JpegReader {
 public:
  // Reads the header and calls check_size. `bytes` and `name` outlive the reader.
  JpegReader(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options);
  // Reads the file in small blocks, for images of one scan: check by_rows() before reading rows.
  JpegReader(FileBytes bytes, const std::string& name);
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  int width() const { return static_cast<int>(cinfo_.image_width); }
  int height() const { return static_cast<int>(cinfo_.image_height); }
  // Rows can be decoded without the ones below them: one scan, Huffman coding.
  bool by_rows() { return jpeg_has_multiple_scans(&cinfo_) == 0 && cinfo_.arith_code == 0; }
  // The most memory that libjpeg takes.
  uint64_t working_bytes();

  // Once, then height() rows, then the end.
  void start();
  void read_row(uint8_t* rgb);
  void finish();

 private:
  // A block of a file, for libjpeg.
  struct Blocks {
    FileBytes file;
    uint64_t position = 0;
    std::vector<uint8_t> block;
    jpeg_source_mgr manager = {};
  };

  template <typename F>
  void guarded(const F& read) {
    if (setjmp(jump_) != 0) {
      if (no_memory_) throw std::bad_alloc();
      fail("{}: damaged JPEG: {}", name_, message_);
    }
    read();
  }

  static JpegReader& self(j_common_ptr cinfo) {
    return *static_cast<JpegReader*>(cinfo->client_data);
  }
  static bool is_harmless(int code);

  void create();
  template <typename F>
  void read_header(const F& set_source);
  void set_blocks();
  bool next_block();
  bool count_scan();

  const std::string& name_;
  bool bounded_ = true;  // scans are counted
  Blocks blocks_;
  jpeg_decompress_struct cinfo_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf jump_ = {};
  char message_[JMSG_LENGTH_MAX] = {};
  bool no_memory_ = false;
  int counted_scans_ = 0;
  uint64_t visits_ = 0;        // of coefficients by these scans
  std::vector<uint8_t> line_;  // of CMYK
};

// The orientation in the first EXIF segment before the first scan, 1 to 8.
int find_jpeg_orientation(std::span<const uint8_t> jpeg);

}  // namespace vig
