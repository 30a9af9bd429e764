#include "vig/tasks/merge_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/printable.h"

namespace vig {
namespace {

constexpr double kSame = 0.5;
// A box that ends so near to a border of its window, in pixels, is cut by it.
constexpr float kBorder = 2;
// Of the box around two masks that are united: an object that spreads over more stays in parts.
constexpr int64_t kMostPixels = int64_t{1} << 26;

// Pixels of the image.
struct PixelArea {
  int64_t x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  bool empty() const { return x1 >= x2 || y1 >= y2; }
};

PixelArea common(const PixelArea& a, const PixelArea& b) {
  return {std::max(a.x1, b.x1), std::max(a.y1, b.y1), std::min(a.x2, b.x2), std::min(a.y2, b.y2)};
}
PixelArea around(const PixelArea& a, const PixelArea& b) {
  return {std::min(a.x1, b.x1), std::min(a.y1, b.y1), std::max(a.x2, b.x2), std::max(a.y2, b.y2)};
}

PixelArea area_of(const InputWindow& window) {
  return {window.x, window.y, int64_t{window.x} + window.width, int64_t{window.y} + window.height};
}

bool has_mask(const LargeObject& object) { return object.mask.width > 0; }

// Where its pixels lie: those of its mask, or of its box where it has none.
PixelArea extent(const LargeObject& object) {
  if (has_mask(object)) {
    return {object.mask_x, object.mask_y, object.mask_x + object.mask.width,
            object.mask_y + object.mask.height};
  }
  return {static_cast<int64_t>(std::floor(object.x1)), static_cast<int64_t>(std::floor(object.y1)),
          static_cast<int64_t>(std::ceil(object.x2)), static_cast<int64_t>(std::ceil(object.y2))};
}

// Its pixels in an area inside of its extent, row by row.
std::vector<uint8_t> pixels_in(const LargeObject& object, const PixelArea& part) {
  const auto width = static_cast<int>(part.x2 - part.x1);
  const auto height = static_cast<int>(part.y2 - part.y1);
  if (!has_mask(object)) {
    return std::vector<uint8_t>(static_cast<size_t>(width) * static_cast<size_t>(height), 1);
  }
  return decode_mask(object.mask, static_cast<int>(part.x1 - object.mask_x),
                     static_cast<int>(part.y1 - object.mask_y), width, height);
}

// Of the object's pixels, how many lie in one of the windows.
int64_t pixels_seen(const LargeObject& object, const std::vector<InputWindow>& windows) {
  const PixelArea own = extent(object);
  std::vector<PixelArea> parts;
  for (const InputWindow& window : windows) {
    const PixelArea part = common(own, area_of(window));
    if (!part.empty()) parts.push_back(part);
  }
  if (parts.empty()) return 0;
  const std::vector<uint8_t> pixels = pixels_in(object, own);
  int64_t seen = 0;
  for (int64_t y = own.y1; y < own.y2; ++y) {
    const uint8_t* row = pixels.data() + (y - own.y1) * (own.x2 - own.x1);
    for (int64_t x = own.x1; x < own.x2; ++x) {
      if (row[x - own.x1] == 0) continue;
      seen += std::ranges::any_of(parts, [&](const PixelArea& part) {
        return x >= part.x1 && x < part.x2 && y >= part.y1 && y < part.y2;
      });
    }
  }
  return seen;
}

// Pixels of both.
int64_t pixels_shared(const LargeObject& a, const LargeObject& b) {
  const PixelArea part = common(extent(a), extent(b));
  if (part.empty()) return 0;
  const std::vector<uint8_t> first = pixels_in(a, part), second = pixels_in(b, part);
  int64_t shared = 0;
  for (size_t i = 0; i < first.size(); ++i) shared += first[i] != 0 && second[i] != 0;
  return shared;
}

// The mask without empty rows and columns around its ones.
void set_mask(LargeObject& object, std::span<const uint8_t> pixels, const PixelArea& area) {
  const auto width = static_cast<int>(area.x2 - area.x1);
  const auto height = static_cast<int>(area.y2 - area.y1);
  const Mask whole = encode_mask(pixels, width, height);
  const Box box = whole.bounds();
  const auto left = static_cast<int>(box.x1), top = static_cast<int>(box.y1);
  const int wide = static_cast<int>(box.x2) - left, high = static_cast<int>(box.y2) - top;
  object.mask = {};
  if (wide <= 0 || high <= 0) return;
  object.mask_x = area.x1 + left;
  object.mask_y = area.y1 + top;
  object.mask = encode_mask(decode_mask(whole, left, top, wide, high), wide, high);
}

LargeObject object_of(const InputWindow& window, const Detection& found) {
  LargeObject object{window.x + double{found.box.x1},
                     window.y + double{found.box.y1},
                     window.x + double{found.box.x2},
                     window.y + double{found.box.y2},
                     found.label,
                     found.score,
                     0,
                     0,
                     {}};
  const Box box = found.mask.bounds();
  const auto left = static_cast<int>(box.x1), top = static_cast<int>(box.y1);
  const int wide = static_cast<int>(box.x2) - left, high = static_cast<int>(box.y2) - top;
  if (wide <= 0 || high <= 0) return object;
  const PixelArea area{window.x + left, window.y + top, window.x + left + wide,
                       window.y + top + high};
  set_mask(object, decode_mask(found.mask, left, top, wide, high), area);
  return object;
}

// Words of a line, one after the other.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  bool at_end() const { return rest_.empty(); }
  std::string_view next() {
    const size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (word.empty()) fail("a line of an object ends early");
    return word;
  }
  template <class T>
  T number() {
    const std::string_view word = next();
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) {
      fail("{} in a line of an object, expected a number", printable(word));
    }
    return value;
  }

 private:
  std::string_view rest_;
};

LargeObject parse_object(Words& words) {
  LargeObject object;
  object.label = words.number<int>();
  object.score = words.number<float>();
  object.x1 = words.number<double>();
  object.y1 = words.number<double>();
  object.x2 = words.number<double>();
  object.y2 = words.number<double>();
  object.mask_x = words.number<int64_t>();
  object.mask_y = words.number<int64_t>();
  const int width = words.number<int>(), height = words.number<int>();
  const std::string_view runs = words.next();
  if (width > 0 && height > 0) {
    object.mask = mask_from_text("the mask of an object", runs, width, height);
  }
  return object;
}

}  // namespace

int64_t LargeObject::bottom() const {
  const auto box = static_cast<int64_t>(std::ceil(y2));
  return mask.height > 0 ? std::max(box, mask_y + mask.height) : box;
}

std::string object_line(const LargeObject& object) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {}", object.label, object.score, object.x1,
                     object.y1, object.x2, object.y2, object.mask_x, object.mask_y,
                     object.mask.width, object.mask.height,
                     object.mask.width > 0 ? mask_text(object.mask) : "-");
}

LargeObject parse_object_line(std::string_view line) {
  Words words(line);
  LargeObject object = parse_object(words);
  if (!words.at_end()) fail("a line of an object has more than one");
  return object;
}

bool ObjectMerger::same(const Open& a, const Open& b) const {
  if (a.object.label != b.object.label) return false;
  const int64_t shared = pixels_shared(a.object, b.object);
  if (shared == 0) return false;
  const int64_t of_a = pixels_seen(a.object, b.windows);
  const int64_t of_b = pixels_seen(b.object, a.windows);
  const bool cut = !a.cuts.empty() || !b.cuts.empty();
  const int64_t whole = cut ? std::min(of_a, of_b) : of_a + of_b - shared;
  return static_cast<double>(shared) > kSame * static_cast<double>(whole);
}

ObjectMerger::Open ObjectMerger::united(const Open& a, const Open& b) {
  Open both = a.object.score >= b.object.score ? a : b;
  both.windows = a.windows;
  both.windows.insert(both.windows.end(), b.windows.begin(), b.windows.end());
  both.cuts = a.cuts;
  both.cuts.insert(both.cuts.end(), b.cuts.begin(), b.cuts.end());
  std::erase_if(both.cuts, [&](const Cut& cut) {
    return std::ranges::any_of(both.windows, [&](const InputWindow& window) {
      const PixelArea area = area_of(window);
      const bool vertical = cut.x1 == cut.x2;
      return area.x1 <= cut.x1 - vertical && cut.x2 + vertical <= area.x2 &&
             area.y1 <= cut.y1 - !vertical && cut.y2 + !vertical <= area.y2;
    });
  });
  both.object.x1 = std::min(a.object.x1, b.object.x1);
  both.object.y1 = std::min(a.object.y1, b.object.y1);
  both.object.x2 = std::max(a.object.x2, b.object.x2);
  both.object.y2 = std::max(a.object.y2, b.object.y2);
  if (!has_mask(a.object) || !has_mask(b.object)) {
    const LargeObject& masked = has_mask(a.object) ? a.object : b.object;
    both.object.mask_x = masked.mask_x;
    both.object.mask_y = masked.mask_y;
    both.object.mask = masked.mask;
    return both;
  }
  const PixelArea area = around(extent(a.object), extent(b.object));
  const int64_t width = area.x2 - area.x1;
  std::vector<uint8_t> pixels(static_cast<size_t>(width * (area.y2 - area.y1)), 0);
  for (const LargeObject* one : {&a.object, &b.object}) {
    const PixelArea part = extent(*one);
    const std::vector<uint8_t> own = pixels_in(*one, part);
    for (int64_t y = part.y1; y < part.y2; ++y) {
      for (int64_t x = part.x1; x < part.x2; ++x) {
        const auto at = static_cast<size_t>((y - part.y1) * (part.x2 - part.x1) + x - part.x1);
        if (own[at] != 0) pixels[static_cast<size_t>((y - area.y1) * width + x - area.x1)] = 1;
      }
    }
  }
  set_mask(both.object, pixels, area);
  return both;
}

ObjectMerger::Open ObjectMerger::merged(Open a, Open b) {
  const bool a_cut = !a.cuts.empty(), b_cut = !b.cuts.empty();
  if (a_cut && b_cut) return united(a, b);
  if (a_cut != b_cut) return a_cut ? std::move(b) : std::move(a);
  return a.object.score >= b.object.score ? std::move(a) : std::move(b);
}

void ObjectMerger::add(const InputWindow& window, const Detections& found) {
  const auto fits = [](const Open& a, const Open& b) {
    const PixelArea area = around(extent(a.object), extent(b.object));
    return (area.x2 - area.x1) <= kMostPixels / std::max<int64_t>(1, area.y2 - area.y1);
  };
  // The network distinguished objects of one window.
  const auto differ = [](const Open& a, const Open& b) {
    return std::ranges::none_of(a.windows, [&](const InputWindow& shared) {
      return std::ranges::find(b.windows, shared) != b.windows.end();
    });
  };
  std::vector<Open> added;
  for (const Detection& detection : found) {
    Open one{object_of(window, detection), {window}, {}};
    const PixelArea area = area_of(window), part = common(extent(one.object), area);
    const Box& box = detection.box;
    if (area.x1 > 0 && box.x1 < kBorder) {
      one.cuts.push_back({area.x1, part.y1, area.x1, part.y2});
    }
    if (area.y1 > 0 && box.y1 < kBorder) {
      one.cuts.push_back({part.x1, area.y1, part.x2, area.y1});
    }
    if (area.x2 < width_ && box.x2 > static_cast<float>(window.width) - kBorder) {
      one.cuts.push_back({area.x2, part.y1, area.x2, part.y2});
    }
    if (area.y2 < height_ && box.y2 > static_cast<float>(window.height) - kBorder) {
      one.cuts.push_back({part.x1, area.y2, part.x2, area.y2});
    }
    std::optional<size_t> position;  // of the first of those that are the same
    for (size_t i = 0; i < open_.size();) {
      if (differ(open_[i], one) && fits(open_[i], one) && same(open_[i], one)) {
        one = merged(std::move(open_[i]), std::move(one));
        if (!position) {
          position = i++;
        } else {
          open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
        }
      } else {
        ++i;
      }
    }
    if (position) {
      open_[*position] = std::move(one);
    } else {
      added.push_back(std::move(one));
    }
  }
  for (Open& one : added) open_.push_back(std::move(one));
}

std::vector<LargeObject> ObjectMerger::take_above(int64_t y) {
  std::vector<LargeObject> taken;
  std::erase_if(open_, [&](Open& one) {
    if (one.object.bottom() > y) return false;
    taken.push_back(std::move(one.object));
    return true;
  });
  return taken;
}

std::string ObjectMerger::state() const {
  std::string lines;
  for (const Open& one : open_) {
    lines += object_line(one.object);
    fmt::format_to(std::back_inserter(lines), " {}", one.cuts.size());
    for (const Cut& cut : one.cuts) {
      fmt::format_to(std::back_inserter(lines), " {} {} {} {}", cut.x1, cut.y1, cut.x2, cut.y2);
    }
    for (const InputWindow& window : one.windows) {
      fmt::format_to(std::back_inserter(lines), " {} {} {} {}", window.x, window.y, window.width,
                     window.height);
    }
    lines += '\n';
  }
  return lines;
}

void ObjectMerger::restore(std::string_view state) {
  open_.clear();
  while (!state.empty()) {
    const size_t end = std::min(state.find('\n'), state.size());
    Words words(state.substr(0, end));
    state.remove_prefix(std::min(end + 1, state.size()));
    Open one{parse_object(words), {}, {}};
    for (auto cuts = words.number<size_t>(); cuts > 0; --cuts) {
      Cut& cut = one.cuts.emplace_back();
      for (int64_t* number : {&cut.x1, &cut.y1, &cut.x2, &cut.y2})
        *number = words.number<int64_t>();
    }
    while (!words.at_end()) {
      InputWindow window;
      for (int* number : {&window.x, &window.y, &window.width, &window.height}) {
        *number = words.number<int>();
      }
      one.windows.push_back(window);
    }
    open_.push_back(std::move(one));
  }
}

}  // namespace vig
