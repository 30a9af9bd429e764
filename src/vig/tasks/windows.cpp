#include "vig/tasks/windows.h"

#include <algorithm>

#include "vig/base/error.h"

namespace vig {
namespace {

struct Span {
  int first = 0, count = 0;
};

int64_t count_spans(int size, int side, int stride) {
  return std::max<int64_t>(int64_t{size} - side + stride - 1, 0) / stride + 1;
}

std::vector<Span> spans(int size, int side, int stride) {
  std::vector<Span> all;
  const int64_t count = count_spans(size, side, stride);
  for (int64_t i = 0; i < count; ++i) {
    const auto last = static_cast<int>(std::min<int64_t>(i * stride + side, size));
    const int first = std::max(last - side, 0);
    all.push_back({first, last - first});
  }
  return all;
}

void check(int width, int height, int side, int stride) {
  if (width < 1 || height < 1 || stride < 0 || (stride > 0 && side < 1)) {
    fail_usage("windows of {} pixels, {} apart, over {}x{} pixels", side, stride, width, height);
  }
}

}  // namespace

int64_t count_windows(int width, int height, int side, int stride) {
  check(width, height, side, stride);
  if (stride == 0) return 1;
  return count_spans(width, side, stride) * count_spans(height, side, stride);
}

std::vector<InputWindow> sliding_windows(int width, int height, int side, int stride) {
  check(width, height, side, stride);
  if (stride == 0) return {{0, 0, width, height}};
  std::vector<InputWindow> windows;
  for (const Span& y : spans(height, side, stride)) {
    for (const Span& x : spans(width, side, stride)) {
      windows.push_back({x.first, y.first, x.count, y.count});
    }
  }
  return windows;
}

std::vector<std::span<const InputWindow>> window_rows(std::span<const InputWindow> windows) {
  std::vector<std::span<const InputWindow>> rows;
  for (size_t first = 0, last = 0; first < windows.size(); first = last) {
    while (last < windows.size() && windows[last].y == windows[first].y) ++last;
    rows.push_back(windows.subspan(first, last - first));
  }
  return rows;
}

}  // namespace vig
