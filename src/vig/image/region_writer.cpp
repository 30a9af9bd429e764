// The file: a header, the tiles of all levels in the order in which they become complete, and at
// the end one directory per level with its tables. Appending needs no library, and libtiff writes
// one directory at a time.
#include "vig/image/region_writer.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "vig/base/error.h"

namespace vig {
namespace {

constexpr int64_t kTileSide = 256;
// Of a photograph: 2.7 times as fast as the default and 12% larger; LZW is as fast and 50% larger.
constexpr int kDeflateLevel = 3;
constexpr size_t kTiffHeaderBytes = 16;

// Types of values.
constexpr uint16_t kAscii = 2, kShort = 3, kLong = 4, kRational = 5, kDouble = 12, kLong8 = 16;

void put_number(std::vector<uint8_t>& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(value >> 8 * i));
}

// One directory and its values, which follow it.
class Directory {
 public:
  // Tags in ascending order.
  void add(uint16_t tag, uint16_t type, uint64_t count, std::vector<uint8_t> values) {
    entries_.push_back({tag, type, count, std::move(values)});
  }
  void add(uint16_t tag, uint16_t type, uint64_t value) {
    std::vector<uint8_t> bytes;
    put_number(bytes, value, type == kShort ? 2 : type == kLong ? 4 : 8);
    add(tag, type, 1, std::move(bytes));
  }
  void add_doubles(uint16_t tag, const std::vector<double>& values) {
    std::vector<uint8_t> bytes;
    for (const double value : values) put_number(bytes, std::bit_cast<uint64_t>(value), 8);
    add(tag, kDouble, values.size(), std::move(bytes));
  }
  void add_shorts(uint16_t tag, const std::vector<uint16_t>& values) {
    std::vector<uint8_t> bytes;
    for (const uint16_t value : values) put_number(bytes, value, 2);
    add(tag, kShort, values.size(), std::move(bytes));
  }
  void add_numbers(uint16_t tag, const std::vector<uint64_t>& values) {
    std::vector<uint8_t> bytes;
    for (const uint64_t value : values) put_number(bytes, value, 8);
    add(tag, kLong8, values.size(), std::move(bytes));
  }

  // The bytes at offset `at` of the file, followed by the next directory unless it is the last.
  std::vector<uint8_t> bytes(uint64_t at, bool last) const {
    constexpr uint64_t kInline = 8, kEntry = 20;
    const uint64_t values_at = at + 8 + entries_.size() * kEntry + 8;
    std::vector<uint8_t> out, values;
    put_number(out, entries_.size(), 8);
    for (const Entry& entry : entries_) {
      put_number(out, entry.tag, 2);
      put_number(out, entry.type, 2);
      put_number(out, entry.count, 8);
      if (entry.values.size() <= kInline) {
        out.insert(out.end(), entry.values.begin(), entry.values.end());
        out.resize(out.size() + kInline - entry.values.size());
        continue;
      }
      put_number(out, values_at + values.size(), 8);
      values.insert(values.end(), entry.values.begin(), entry.values.end());
      values.resize((values.size() + 7) / 8 * 8);
    }
    put_number(out, last ? 0 : values_at + values.size(), 8);
    out.insert(out.end(), values.begin(), values.end());
    return out;
  }

 private:
  struct Entry {
    uint16_t tag, type;
    uint64_t count;
    std::vector<uint8_t> values;
  };
  std::vector<Entry> entries_;
};

// Pixels per centimetre as two 32-bit numbers.
uint64_t resolution(double microns_per_pixel) {
  const double value = 1e4 / microns_per_pixel;
  double divisor = 1e9;
  while (divisor > 1 && value * divisor > 4e9) divisor /= 10;
  const auto numerator = static_cast<uint64_t>(std::clamp(std::round(value * divisor), 1., 4e9));
  return numerator | static_cast<uint64_t>(divisor) << 32;
}

void add_geo(Directory& directory, const GeoTransform& geo) {
  // Scales are positive, rows run to the south.
  if (geo.x_row == 0 && geo.y_column == 0 && geo.x_column > 0 && geo.y_row < 0) {
    directory.add_doubles(33550, {geo.x_column, -geo.y_row, 0});
    directory.add_doubles(33922, {0, 0, 0, geo.x0, geo.y0, 0});
  } else {
    directory.add_doubles(34264, {geo.x_column, geo.x_row, 0, geo.x0,  //
                                  geo.y_column, geo.y_row, 0, geo.y0,  //
                                  0, 0, 0, 0, 0, 0, 0, 1});
  }
  if (!geo.keys.empty()) directory.add_shorts(34735, geo.keys);
  if (!geo.key_numbers.empty()) directory.add_doubles(34736, geo.key_numbers);
  if (!geo.key_text.empty()) {
    std::vector<uint8_t> text(geo.key_text.begin(), geo.key_text.end());
    text.push_back(0);
    const uint64_t size = text.size();
    directory.add(34737, kAscii, size, std::move(text));
  }
}

}  // namespace

struct TiffBandWriter::Level {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> band;  // rows of one row of tiles
  int64_t filled = 0;         // of its rows
  int64_t done = 0;           // rows of the level before them
  std::vector<uint64_t> offsets, sizes;
};

struct TiffBandWriter::State {
  ByteSink sink;
  TiffBandFormat format;
  std::vector<Level> levels;
  int64_t rows = 0;
  uint64_t position = kTiffHeaderBytes;
  std::vector<uint8_t> tile, packed, half_row;

  void append(const std::vector<uint8_t>& bytes, size_t count) {
    sink.write(bytes.data(), count);
    position += count;
  }

  // Rows come in order; a full row of tiles is written and passed on to the next level.
  void add_row(size_t number, const uint8_t* row) {
    Level& level = levels[number];
    const size_t bytes = static_cast<size_t>(level.width * format.channels);
    std::memcpy(level.band.data() + static_cast<size_t>(level.filled) * bytes, row, bytes);
    if (++level.filled == kTileSide || level.done + level.filled == level.height) flush(number);
  }

  void flush(size_t number) {
    Level& level = levels[number];
    for (int64_t x = 0; x < level.width; x += kTileSide) write_tile(level, x);
    if (number + 1 < levels.size()) {
      for (int64_t y = 0; y < level.filled; y += 2) {
        halve(level, y, std::min(y + 1, level.filled - 1));
        add_row(number + 1, half_row.data());
      }
    }
    level.done += level.filled;
    level.filled = 0;
  }

  void write_tile(Level& level, int64_t x0) {
    const int64_t channels = format.channels, row_bytes = level.width * channels;
    const int64_t columns = std::min(kTileSide, level.width - x0);
    std::fill(tile.begin(), tile.end(), uint8_t{0});
    for (int64_t y = 0; y < level.filled; ++y) {
      const uint8_t* from = level.band.data() + y * row_bytes + x0 * channels;
      uint8_t* to = tile.data() + y * kTileSide * channels;
      std::memcpy(to, from, static_cast<size_t>(columns * channels));
      if (channels == 1) continue;
      // Predictor 2: differences to the pixel on the left.
      for (int64_t i = kTileSide * channels - 1; i >= channels; --i) {
        to[i] = static_cast<uint8_t>(to[i] - to[i - channels]);
      }
    }
    uLongf size = packed.size();
    if (compress2(packed.data(), &size, tile.data(), tile.size(), kDeflateLevel) != Z_OK) {
      throw std::bad_alloc();  // nothing else can fail
    }
    level.offsets.push_back(position);
    level.sizes.push_back(size);
    append(packed, size);
  }

  // Rows y0 and y1 of the band as one row of the next level.
  void halve(const Level& level, int64_t y0, int64_t y1) {
    const int64_t channels = format.channels, row_bytes = level.width * channels;
    const uint8_t* upper = level.band.data() + y0 * row_bytes;
    const uint8_t* lower = level.band.data() + y1 * row_bytes;
    const int64_t width = (level.width + 1) / 2;
    for (int64_t x = 0; x < width; ++x) {
      const int64_t left = 2 * x * channels;
      const int64_t right = std::min(2 * x + 1, level.width - 1) * channels;
      for (int64_t c = 0; c < channels; ++c) {
        const int sum = upper[left + c] + upper[right + c] + lower[left + c] + lower[right + c];
        half_row[static_cast<size_t>(x * channels + c)] =
            channels == 1 ? upper[left] : static_cast<uint8_t>((sum + 2) / 4);
      }
    }
  }

  Directory directory(size_t number) const {
    const Level& level = levels[number];
    const bool labels = format.channels == 1, palette = !format.palette.empty();
    Directory out;
    out.add(254, kLong, number > 0 ? 1 : 0);  // a reduced image
    out.add(256, kLong, static_cast<uint64_t>(level.width));
    out.add(257, kLong, static_cast<uint64_t>(level.height));
    out.add_shorts(258, std::vector<uint16_t>(static_cast<size_t>(format.channels), 8));
    out.add(259, kShort, 8);  // deflate
    out.add(262, kShort, palette ? 3 : labels ? 1 : 2);
    out.add(277, kShort, static_cast<uint64_t>(format.channels));
    if (format.microns_per_pixel) {
      const double across = static_cast<double>(levels[0].width) / static_cast<double>(level.width);
      const double down = static_cast<double>(levels[0].height) / static_cast<double>(level.height);
      out.add(282, kRational, resolution(*format.microns_per_pixel * across));
      out.add(283, kRational, resolution(*format.microns_per_pixel * down));
    }
    out.add(284, kShort, 1);                                // interleaved
    if (format.microns_per_pixel) out.add(296, kShort, 3);  // per centimetre
    if (!labels) out.add(317, kShort, 2);                   // differences
    if (palette) {
      std::vector<uint16_t> map(3 * 256);
      for (size_t i = 0; i < format.palette.size(); ++i) {
        for (size_t c = 0; c < 3; ++c) {
          map[c * 256 + i] = static_cast<uint16_t>(format.palette[i][c] * 257);
        }
      }
      out.add_shorts(320, map);
    }
    out.add(322, kLong, kTileSide);
    out.add(323, kLong, kTileSide);
    out.add_numbers(324, level.offsets);
    out.add_numbers(325, level.sizes);
    if (number == 0 && format.geo_transform) add_geo(out, *format.geo_transform);
    return out;
  }
};

TiffBandWriter::TiffBandWriter(ByteSink sink, const TiffBandFormat& format)
    : state_(std::make_unique<State>()) {
  constexpr int64_t kMaxSide = std::numeric_limits<int32_t>::max();
  if (format.width < 1 || format.height < 1 || format.width > kMaxSide ||
      format.height > kMaxSide) {
    fail_usage("a TIFF of {}x{} pixels, expected sides from 1 to {}", format.width, format.height,
               kMaxSide);
  }
  if (format.channels != 1 && format.channels != 3) {
    fail_usage("a TIFF of {} channels, expected 1 or 3", format.channels);
  }
  if (format.palette.size() > 256 || (format.channels == 3 && !format.palette.empty())) {
    fail_usage("a TIFF of {} channels with {} colours, expected at most 256 for one channel",
               format.channels, format.palette.size());
  }
  State& state = *state_;
  state.sink = std::move(sink);
  state.format = format;
  int64_t width = format.width, height = format.height;
  for (;; width = (width + 1) / 2, height = (height + 1) / 2) {
    Level level;
    level.width = width;
    level.height = height;
    level.band.resize(static_cast<size_t>(std::min(kTileSide, height) * width * format.channels));
    state.levels.push_back(std::move(level));
    if (width <= kTileSide && height <= kTileSide) break;
  }
  state.half_row.resize(static_cast<size_t>((format.width + 1) / 2 * format.channels));
  state.tile.resize(static_cast<size_t>(kTileSide * kTileSide * format.channels));
  state.packed.resize(compressBound(state.tile.size()));
  const std::vector<uint8_t> header(kTiffHeaderBytes);
  state.sink.write(header.data(), header.size());
}

TiffBandWriter::~TiffBandWriter() = default;

int64_t TiffBandWriter::rows_written() const { return state_->rows; }

void TiffBandWriter::write_rows(const uint8_t* rows, int64_t count) {
  State& state = *state_;
  if (count < 0 || count > state.format.height - state.rows) {
    fail_usage("a TIFF of {} rows, expected {}", state.rows + count, state.format.height);
  }
  const int64_t row_bytes = state.format.width * state.format.channels;
  for (int64_t y = 0; y < count; ++y) state.add_row(0, rows + y * row_bytes);
  state.rows += count;
}

void TiffBandWriter::finish() {
  State& state = *state_;
  const std::vector<uint8_t> zeros(static_cast<size_t>(state.format.width * state.format.channels));
  while (state.rows < state.format.height) write_rows(zeros.data(), 1);

  state.append({0, 0, 0, 0, 0, 0, 0, 0}, (8 - state.position % 8) % 8);
  const uint64_t first = state.position;
  for (size_t i = 0; i < state.levels.size(); ++i) {
    const auto bytes = state.directory(i).bytes(state.position, i + 1 == state.levels.size());
    state.append(bytes, bytes.size());
  }
  std::vector<uint8_t> header = {'I', 'I', 43, 0, 8, 0, 0, 0};
  put_number(header, first, 8);
  state.sink.rewrite_begin(header.data(), header.size());
}

}  // namespace vig
