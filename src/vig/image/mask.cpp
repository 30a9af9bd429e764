#include "vig/image/mask.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/printable.h"

namespace vig {
namespace {

uint32_t pixel_count(int width, int height) {
  if (width < 0 || height < 0) {
    fail_usage("[mask] a size of {}x{}, expected no negative side", width, height);
  }
  const uint64_t pixels = static_cast<uint64_t>(width) * static_cast<uint64_t>(height);
  if (pixels > std::numeric_limits<uint32_t>::max()) {
    fail("a mask of {}x{} pixels, expected fewer than 2^32 (a fixed limit)", width, height);
  }
  return static_cast<uint32_t>(pixels);
}

// The runs between sorted positions at which the value changes; two changes at one position are
// none.
std::vector<uint32_t> runs_between(const std::vector<uint32_t>& changes, uint32_t pixels) {
  std::vector<uint32_t> kept;
  for (const uint32_t at : changes) {
    if (at >= pixels) break;
    if (!kept.empty() && kept.back() == at) {
      kept.pop_back();
    } else {
      kept.push_back(at);
    }
  }
  std::vector<uint32_t> runs;
  runs.reserve(kept.size() + 1);
  uint32_t before = 0;
  for (const uint32_t at : kept) {
    runs.push_back(at - before);
    before = at;
  }
  runs.push_back(pixels - before);
  return runs;
}

// The outline of a polygon is a chain of points on a grid five times as fine as the pixels. A
// column of pixels begins where the chain moves from 5 c + 2 to 5 c + 3 or back. Only those moves
// are computed, so that time follows the columns and not the length of an edge.
constexpr double kFine = 5;
constexpr int64_t kColumnOffset = 2;
// Coordinates beyond mean the same as these: products with sides of images stay exact in int64.
constexpr double kFarthest = 1e12;
constexpr uint64_t kMaxChanges = uint64_t{1} << 24;  // of one polygon

struct FinePoint {
  int64_t u, v;
};

int64_t fine(double coordinate) {
  if (std::isnan(coordinate)) fail("a polygon with a corner that is not a number");
  return static_cast<int64_t>(std::clamp(coordinate, -kFarthest, kFarthest) * kFine + 0.5);
}

int64_t rounded(double value) { return static_cast<int64_t>(value + 0.5); }

class PolygonFiller {
 public:
  PolygonFiller(int width, int height) : width_(width), height_(height) {}

  // Every edge is computed from the end with the smaller coordinate along its longer axis.
  void add_edge(FinePoint from, FinePoint to) {
    const int64_t du = std::abs(to.u - from.u), dv = std::abs(to.v - from.v);
    if (du == 0) return;  // it crosses no column
    const bool along_u = du >= dv;
    if (along_u ? from.u > to.u : from.v > to.v) std::swap(from, to);
    const int64_t low = std::min(from.u, to.u), high = std::max(from.u, to.u);
    const int64_t first = low <= kColumnOffset ? 0 : (low - kColumnOffset + 4) / 5;
    const int64_t last = std::min<int64_t>((high - 1 - kColumnOffset) / 5, width_ - 1);
    if (high - 1 < kColumnOffset || last < first) return;
    if (static_cast<uint64_t>(last - first) + 1 > kMaxChanges - changes_.size()) {
      fail("a polygon that crosses more than {} columns of the image (a fixed limit)", kMaxChanges);
    }
    for (int64_t column = first; column <= last; ++column) {
      const int64_t u = 5 * column + kColumnOffset;
      const int64_t v = along_u ? lower_along_u(from, to, u) : lower_along_v(from, to, u);
      const double row = (static_cast<double>(v) + 0.5) / kFine - 0.5;
      const double inside = std::ceil(std::clamp(row, 0.0, static_cast<double>(height_)));
      changes_.push_back(static_cast<uint32_t>(column) * static_cast<uint32_t>(height_) +
                         static_cast<uint32_t>(inside));
    }
  }

  std::vector<uint32_t> take_sorted() {
    std::ranges::sort(changes_);
    return std::move(changes_);
  }

 private:
  // The smaller v of the points at u and u + 1.
  static int64_t lower_along_u(FinePoint from, FinePoint to, int64_t u) {
    const double slope = static_cast<double>(to.v - from.v) / static_cast<double>(to.u - from.u);
    const auto v_at = [&](int64_t t) {
      return rounded(static_cast<double>(from.v) + slope * static_cast<double>(t));
    };
    return std::min(v_at(u - from.u), v_at(u - from.u + 1));
  }

  // The smaller v of the two points between which the chain moves from u to u + 1 or back. An edge
  // that is higher than wide has at least one point for every u.
  static int64_t lower_along_v(FinePoint from, FinePoint to, int64_t u) {
    const int64_t length = to.v - from.v;
    const double slope = static_cast<double>(to.u - from.u) / static_cast<double>(length);
    const bool rising = slope > 0;
    // The first point beyond the move; monotonous, as u is.
    int64_t before = 0, after = length;
    while (after - before > 1) {
      const int64_t middle = before + (after - before) / 2;
      const int64_t there =
          rounded(static_cast<double>(from.u) + slope * static_cast<double>(middle));
      (rising ? there > u : there <= u) ? after = middle : before = middle;
    }
    return from.v + before;
  }

  int width_, height_;
  std::vector<uint32_t> changes_;
};

// Where ones begin and end.
struct Edge {
  uint64_t at;
  int sign;  // +1 or -1
};

}  // namespace

int64_t Mask::area() const {
  int64_t ones = 0;
  for (size_t i = 1; i < runs.size(); i += 2) ones += runs[i];
  return ones;
}

Box Mask::bounds() const {
  uint64_t left = std::numeric_limits<uint64_t>::max(), right = 0, top = left, bottom = 0;
  const auto rows = static_cast<uint64_t>(height);
  uint64_t at = 0;
  for (size_t i = 0; i < runs.size(); at += runs[i], ++i) {
    if (i % 2 == 0 || runs[i] == 0 || rows == 0) continue;
    const uint64_t last = at + runs[i] - 1;
    left = std::min(left, at / rows);
    right = std::max(right, last / rows);
    const bool wraps = at / rows != last / rows;  // through the bottom of a column
    top = std::min(top, wraps ? 0 : at % rows);
    bottom = std::max(bottom, wraps ? rows - 1 : last % rows);
  }
  if (left > right) return {};
  return {static_cast<float>(left), static_cast<float>(top), static_cast<float>(right + 1),
          static_cast<float>(bottom + 1)};
}

Mask encode_mask(std::span<const uint8_t> pixels, int width, int height) {
  if (pixels.size() != pixel_count(width, height)) {
    fail_usage("[mask] {} pixels for {}x{}", pixels.size(), width, height);
  }
  Mask mask{width, height, {}};
  bool value = false;
  uint32_t run = 0;
  for (int x = 0; x < width; ++x) {
    for (int y = 0; y < height; ++y) {
      const size_t at = static_cast<size_t>(y) * static_cast<size_t>(width);
      const bool one = pixels[at + static_cast<size_t>(x)] != 0;
      if (one != value) {
        mask.runs.push_back(run);
        run = 0;
        value = one;
      }
      ++run;
    }
  }
  mask.runs.push_back(run);
  return mask;
}

std::vector<uint8_t> decode_mask(const Mask& mask) {
  return decode_mask(mask, 0, 0, mask.width, mask.height);
}

std::vector<uint8_t> decode_mask(const Mask& mask, int left, int top, int width, int height) {
  if (left < 0 || top < 0 || width < 0 || height < 0 || left > mask.width - width ||
      top > mask.height - height) {
    fail_usage("[mask] {}x{} pixels from {}, {} on of {}x{}", width, height, left, top, mask.width,
               mask.height);
  }
  std::vector<uint8_t> pixels(pixel_count(width, height));
  const size_t all = pixel_count(mask.width, mask.height);
  const auto column_pixels = static_cast<size_t>(mask.height);
  size_t at = 0;
  for (size_t i = 0; i < mask.runs.size(); ++i) {
    if (mask.runs[i] > all - at) {
      fail_usage("[mask] its runs exceed the {} pixels of {}x{}", all, mask.width, mask.height);
    }
    const size_t end = at + mask.runs[i];
    while (i % 2 == 1 && at < end) {  // a piece of one column
      const auto x = static_cast<int64_t>(at / column_pixels) - left;
      const auto from = static_cast<int64_t>(at % column_pixels) - top;
      const auto count =
          static_cast<int64_t>(std::min(end - at, column_pixels - at % column_pixels));
      at += static_cast<size_t>(count);
      if (x < 0 || x >= width) continue;
      const int64_t last = std::min<int64_t>(from + count, height);
      for (int64_t y = std::max<int64_t>(from, 0); y < last; ++y) {
        pixels[static_cast<size_t>(y * width + x)] = 1;
      }
    }
    at = end;
  }
  return pixels;
}

std::string mask_text(const Mask& mask) {
  std::string text;
  for (size_t i = 0; i < mask.runs.size(); ++i) {
    int64_t value = mask.runs[i];
    if (i > 2) value -= mask.runs[i - 2];
    for (bool more = true; more;) {
      const int64_t group = value & 0x1f;
      value >>= 5;
      more = (group & 0x10) != 0 ? value != -1 : value != 0;
      text += static_cast<char>(group + (more ? 0x20 : 0) + 48);
    }
  }
  return text;
}

Mask mask_from_text(const std::string& where, std::string_view text, int width, int height) {
  const uint64_t pixels = pixel_count(width, height);
  Mask mask{width, height, {}};
  uint64_t sum = 0;
  for (size_t at = 0; at < text.size();) {
    int64_t value = 0;
    int shift = 0;
    for (bool more = true; more; shift += 5) {
      if (at == text.size()) fail("{}: its run lengths end within a number", where);
      const int group = static_cast<unsigned char>(text[at]) - 48;
      if (group < 0 || group > 0x3f) {
        fail("{}: expected run lengths in characters from '0' to 'o', found \"{}\"", where,
             printable(text.substr(at, 1)));
      }
      // Seven groups hold a difference of 33 bits and its sign.
      if (shift >= 35) fail("{}: a run length of more than 32 bits", where);
      ++at;
      value |= static_cast<int64_t>(group & 0x1f) << shift;
      more = (group & 0x20) != 0;
      if (!more && (group & 0x10) != 0) value -= int64_t{1} << (shift + 5);
    }
    const size_t count = mask.runs.size();
    if (count > 2) value += mask.runs[count - 2];
    if (value < 0 || static_cast<uint64_t>(value) > pixels - sum) {
      fail("{}: expected run lengths that fill {}x{} pixels, found {} after {}", where, width,
           height, value, sum);
    }
    sum += static_cast<uint64_t>(value);
    mask.runs.push_back(static_cast<uint32_t>(value));
  }
  if (sum != pixels) {
    fail("{}: expected run lengths that fill {}x{} pixels, found {} in all", where, width, height,
         sum);
  }
  return mask;
}

Mask polygon_mask(std::span<const double> corners, int width, int height) {
  const uint32_t pixels = pixel_count(width, height);
  if (corners.size() % 2 != 0) {
    fail("a polygon of {} numbers, expected two for each corner", corners.size());
  }
  std::vector<FinePoint> ring;
  ring.reserve(corners.size() / 2);
  for (size_t i = 0; i < corners.size(); i += 2) {
    ring.push_back({fine(corners[i]), fine(corners[i + 1])});
  }
  PolygonFiller filler(width, height);
  for (size_t i = 0; i < ring.size(); ++i) filler.add_edge(ring[i], ring[(i + 1) % ring.size()]);
  return {width, height, runs_between(filler.take_sorted(), pixels)};
}

Mask unite(std::span<const Mask> masks) {
  if (masks.empty()) fail_usage("[mask] nothing to unite");
  const int width = masks.front().width, height = masks.front().height;
  const uint32_t pixels = pixel_count(width, height);
  std::vector<Edge> edges;
  for (const Mask& mask : masks) {
    if (mask.width != width || mask.height != height) {
      fail("masks of {}x{} and {}x{} pixels, expected one size", width, height, mask.width,
           mask.height);
    }
    uint64_t at = 0;
    for (size_t i = 0; i < mask.runs.size(); at += mask.runs[i], ++i) {
      if (i % 2 == 0 || mask.runs[i] == 0) continue;
      edges.push_back({at, 1});
      edges.push_back({at + mask.runs[i], -1});
    }
  }
  std::ranges::sort(edges, {}, &Edge::at);
  std::vector<uint32_t> changes;
  int covered = 0;
  for (size_t i = 0; i < edges.size();) {
    const uint64_t at = edges[i].at;
    const bool before = covered > 0;
    for (; i < edges.size() && edges[i].at == at; ++i) covered += edges[i].sign;
    if (before != (covered > 0)) changes.push_back(static_cast<uint32_t>(at));
  }
  return {width, height, runs_between(changes, pixels)};
}

double mask_iou(const Mask& a, const Mask& b, bool b_is_crowd) {
  if (a.width != b.width || a.height != b.height) {
    fail("masks of {}x{} and {}x{} pixels, expected one size", a.width, a.height, b.width,
         b.height);
  }
  // Both lists of runs side by side.
  uint64_t overlap = 0, at = 0, a_end = 0, b_end = 0;
  size_t i = 0, j = 0;  // runs that are open, plus 1
  for (;;) {
    while (i < a.runs.size() && a_end <= at) a_end += a.runs[i++];
    while (j < b.runs.size() && b_end <= at) b_end += b.runs[j++];
    if (a_end <= at || b_end <= at) break;
    const uint64_t end = std::min(a_end, b_end);
    if (i % 2 == 0 && j % 2 == 0) overlap += end - at;
    at = end;
  }
  const auto area = static_cast<uint64_t>(a.area());
  const uint64_t both = b_is_crowd ? area : area + static_cast<uint64_t>(b.area()) - overlap;
  return both > 0 ? static_cast<double>(overlap) / static_cast<double>(both) : 0.0;
}

}  // namespace vig
