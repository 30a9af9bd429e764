#include "vig/image/mask.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "support/errors.h"
#include "support/golden_tensors.h"
#include "support/tree.h"
#include "vig/base/random.h"
#include "vig/image/box.h"

namespace vig::test {
namespace {

using Corners = std::vector<double>;

std::vector<uint8_t> random_pixels(int width, int height, uint64_t seed, double share = 0.5) {
  std::vector<uint8_t> pixels(static_cast<size_t>(width * height));
  RandomStream stream(seed);
  for (uint8_t& pixel : pixels) pixel = stream.chance(share) ? 1 : 0;
  return pixels;
}

// The outline point by point, as dense.md has it, for coordinates of modest size.
std::vector<uint8_t> fill_slowly(const Corners& corners, int width, int height) {
  struct Point {
    int u, v;
  };
  std::vector<Point> ring, chain;
  for (size_t i = 0; i < corners.size(); i += 2) {
    ring.push_back(
        {static_cast<int>(corners[i] * 5 + 0.5), static_cast<int>(corners[i + 1] * 5 + 0.5)});
  }
  for (size_t i = 0; i < ring.size(); ++i) {
    Point a = ring[i], b = ring[(i + 1) % ring.size()];
    const int du = std::abs(a.u - b.u), dv = std::abs(a.v - b.v);
    if (du == 0 && dv == 0) continue;
    const bool flip = du >= dv ? a.u > b.u : a.v > b.v;
    if (flip) std::swap(a, b);
    const int length = std::max(du, dv);
    for (int point = 0; point <= length; ++point) {
      const int t = flip ? length - point : point;
      if (du >= dv) {
        const double slope = static_cast<double>(b.v - a.v) / du;
        chain.push_back({a.u + t, static_cast<int>(a.v + slope * t + 0.5)});
      } else {
        const double slope = static_cast<double>(b.u - a.u) / dv;
        chain.push_back({static_cast<int>(a.u + slope * t + 0.5), a.v + t});
      }
    }
  }
  std::vector<uint8_t> toggles(static_cast<size_t>(width * height + 1)),
      pixels(static_cast<size_t>(width * height));
  for (size_t j = 1; j < chain.size(); ++j) {
    const Point now = chain[j], before = chain[j - 1];
    if (now.u == before.u) continue;
    const double column = ((now.u < before.u ? now.u : now.u - 1) + 0.5) / 5 - 0.5;
    if (std::floor(column) != column || column < 0 || column > width - 1) continue;
    const double row =
        std::ceil(std::clamp((std::min(now.v, before.v) + 0.5) / 5 - 0.5, 0.0, 1.0 * height));
    toggles[static_cast<size_t>(column * height + row)] ^= 1;
  }
  uint8_t value = 0;
  for (int x = 0; x < width; ++x) {
    for (int y = 0; y < height; ++y) {
      value ^= toggles[static_cast<size_t>(x * height + y)];
      pixels[static_cast<size_t>(y * width + x)] = value;
    }
  }
  return pixels;
}

TEST(Mask, RunsGoDownTheColumns) {
  const std::vector<uint8_t> pixels = {0, 1, 1,  //
                                       0, 1, 0};
  const Mask mask = encode_mask(pixels, 3, 2);
  EXPECT_EQ(mask.runs, (std::vector<uint32_t>{2, 3, 1}));
  EXPECT_EQ(mask.area(), 3);
  EXPECT_EQ(mask.bounds(), (Box{1, 0, 3, 2}));
  EXPECT_EQ(decode_mask(mask), pixels);
}

TEST(Mask, StartsWithARunOfZeros) {
  EXPECT_EQ(encode_mask(std::vector<uint8_t>{1, 0}, 2, 1).runs, (std::vector<uint32_t>{0, 1, 1}));
  EXPECT_EQ(encode_mask(std::vector<uint8_t>{0, 0}, 2, 1).runs, (std::vector<uint32_t>{2}));
  const Mask none = encode_mask(std::vector<uint8_t>(6), 3, 2);
  EXPECT_EQ(none.area(), 0);
  EXPECT_EQ(none.bounds(), Box{});
}

TEST(Mask, RoundTrips) {
  for (const auto& [width, height] :
       std::vector<std::pair<int, int>>{{1, 1}, {7, 1}, {1, 9}, {13, 8}, {64, 50}}) {
    for (const double share : {0.02, 0.5, 1.0}) {
      const auto pixels =
          random_pixels(width, height, static_cast<uint64_t>(width + height), share);
      const Mask mask = encode_mask(pixels, width, height);
      EXPECT_EQ(decode_mask(mask), pixels);
      EXPECT_EQ(mask_from_text("x", mask_text(mask), width, height), mask);
      const int from_x = width / 3, from_y = height / 4, rest_x = width - from_x, rows = height / 2;
      const auto part = decode_mask(mask, from_x, from_y, rest_x, rows);
      for (int i = 0; i < rest_x * rows; ++i) {
        EXPECT_EQ(part[static_cast<size_t>(i)],
                  pixels[static_cast<size_t>((from_y + i / rest_x) * width + from_x + i % rest_x)]);
      }
      int left = width, right = 0, top = height, bottom = 0;
      for (int i = 0; i < width * height; ++i) {
        if (pixels[static_cast<size_t>(i)] == 0) continue;
        left = std::min(left, i % width), right = std::max(right, i % width + 1);
        top = std::min(top, i / width), bottom = std::max(bottom, i / width + 1);
      }
      const Box want{static_cast<float>(left), static_cast<float>(top), static_cast<float>(right),
                     static_cast<float>(bottom)};
      EXPECT_EQ(mask.bounds(), right == 0 ? Box{} : want);
    }
  }
}

TEST(Mask, TextHoldsLargeRunsAndDifferences) {
  const Mask mask{65536, 65535, {0, 1, 4294000000u, 5, 0, 0, 65536u * 65535u - 4294000006u}};
  EXPECT_EQ(mask_from_text("x", mask_text(mask), mask.width, mask.height), mask);
}

TEST(Mask, TextsOfTheOriginal) {
  const GoldenTensors golden("coco-ap");
  const auto notes =
      nlohmann::json::parse(read_file(std::string(kFixtures) + "/golden/dense/coco-ap.json"));
  for (const std::string kind : {"gt", "dt"}) {
    const auto counts = golden.read(kind + "/rle_counts").values;
    const auto offsets = golden.read(kind + "/rle_offsets").values;
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      Mask want{200, 150, {}};
      for (auto at = static_cast<size_t>(offsets[i]); at < static_cast<size_t>(offsets[i + 1]);
           ++at) {
        want.runs.push_back(static_cast<uint32_t>(counts[at]));
      }
      const std::string text = notes["rle"][kind][i];
      EXPECT_EQ(mask_from_text("x", text, 200, 150), want);
      EXPECT_EQ(mask_text(want), text);
    }
  }
}

TEST(Mask, HostileTexts) {
  const auto read = [](std::string_view text) {
    return error_of([&] { mask_from_text("a.json: object 7", text, 4, 3); });
  };
  for (const std::string_view text :
       {"", "0", "<1", "P", "o", "oooooooo", "ooooooooooooooooooooooo", "\x7f\x7f~~", "/", "p",
        "\xff", "k0O"}) {
    EXPECT_TRUE(read(text).starts_with("a.json: object 7: ")) << read(text);
  }
  EXPECT_NE(read("~").find("'0' to 'o'"), std::string::npos);
  EXPECT_EQ(read("oooooooo"), "a.json: object 7: a run length of more than 32 bits");
  EXPECT_EQ(read("ooooooo"), "a.json: object 7: its run lengths end within a number");
  EXPECT_NE(read(";").find("4x3"), std::string::npos);  // 11 of 12
  EXPECT_EQ(mask_from_text("x", "<", 4, 3).runs, (std::vector<uint32_t>{12}));
  EXPECT_EQ(mask_from_text("x", "0<", 4, 3).runs, (std::vector<uint32_t>{0, 12}));
  error_of([] { mask_from_text("x", "0", 1 << 20, 1 << 20); });
}

TEST(Mask, PolygonsOfTheOriginal) {
  const GoldenTensors golden("coco-polygon");
  std::vector<Mask> masks;
  for (int i = 0; i < 6; ++i) {
    const std::string number = std::to_string(i);
    const Corners corners = golden.read("poly/" + number).values;
    const auto want = golden.read("mask/" + number).values;
    masks.push_back(polygon_mask(corners, 80, 60));
    EXPECT_EQ(decode_mask(masks.back()), std::vector<uint8_t>(want.begin(), want.end())) << i;
    const auto box = golden.read("bbox/" + number).values;
    const Box bounds = masks.back().bounds();
    EXPECT_EQ((std::vector<double>{bounds.x1, bounds.y1, bounds.width(), bounds.height()}), box)
        << i;
  }
  const auto want = golden.read("union/mask").values;
  const std::vector<Mask> parts = {masks[0], masks[2]};
  EXPECT_EQ(decode_mask(unite(parts)), std::vector<uint8_t>(want.begin(), want.end()));
}

TEST(Mask, PolygonsEqualTheTraversalOfTheirEdges) {
  RandomStream stream(5);
  for (int round = 0; round < 300; ++round) {
    const int width = 1 + static_cast<int>(stream.below(40)),
              height = 1 + static_cast<int>(stream.below(40));
    Corners corners;
    const auto count = 1 + stream.below(7);
    const bool whole = stream.chance(0.3), outside = stream.chance(0.5);
    for (uint64_t i = 0; i < 2 * static_cast<uint64_t>(count); ++i) {
      const int side = i % 2 == 0 ? width : height;
      const float margin = outside ? 15.0f : 0.0f;
      const double at = stream.uniform(-margin, static_cast<float>(side) + margin);
      corners.push_back(whole ? std::round(at) : at);
    }
    const Mask mask = polygon_mask(corners, width, height);
    ASSERT_EQ(decode_mask(mask), fill_slowly(corners, width, height)) << round;
    for (size_t i = 1; i < mask.runs.size(); ++i) EXPECT_GT(mask.runs[i], 0u);
  }
}

TEST(Mask, PolygonOfARectangle) {
  const Mask mask = polygon_mask(Corners{2, 1, 6, 1, 6, 4, 2, 4}, 9, 5);
  EXPECT_EQ(mask.bounds(), (Box{2, 1, 6, 4}));
  EXPECT_EQ(mask.area(), 12);
}

TEST(Mask, HugePolygonsAreClipped) {
  const auto start = std::chrono::steady_clock::now();
  const Mask all = polygon_mask(Corners{-1e9, -1e9, 1e9, -1e9, 1e9, 1e9, -1e9, 1e9}, 240, 160);
  EXPECT_EQ(all.area(), 240 * 160);
  const Mask half = polygon_mask(Corners{-1e9, -1e9, 1e9, -1e9, 1e9, 1e9}, 160, 160);
  EXPECT_NEAR(static_cast<double>(half.area()), 160 * 160 / 2.0, 160);
  EXPECT_EQ(polygon_mask(Corners{1e300, 1e300, 1e301, 0, 2e300, -1e308}, 20, 20).area(), 0);
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(polygon_mask(Corners{-kInfinite, 3, kInfinite, 3, kInfinite, 8, -kInfinite, 8}, 20, 20)
                .area(),
            100);
  error_of([] { polygon_mask(Corners{0, 0, NAN, 5, 5, 5}, 20, 20); });
  error_of([] { polygon_mask(Corners{0, 0, 5}, 20, 20); });
  // A line back and forth over a wide image.
  Corners zigzag;
  for (int i = 0; i < 100000; ++i) zigzag.insert(zigzag.end(), {i % 2 == 0 ? 0.0 : 1e6, 1.0 * i});
  EXPECT_NE(error_of([&] { polygon_mask(zigzag, 1 << 20, 64); }).find("columns"),
            std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Mask, UnionAndOverlapByPixels) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const int width = 1 + static_cast<int>(seed), height = 11;
    const auto a = random_pixels(width, height, seed, 0.3),
               b = random_pixels(width, height, seed + 100, 0.6);
    std::vector<uint8_t> either(a.size());
    int both = 0, any = 0, first = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      either[i] = a[i] | b[i];
      both += a[i] & b[i], any += a[i] | b[i], first += a[i];
    }
    const std::vector<Mask> masks = {encode_mask(a, width, height), encode_mask(b, width, height)};
    EXPECT_EQ(unite(masks), encode_mask(either, width, height));
    EXPECT_EQ(mask_iou(masks[0], masks[1], false),
              any == 0 ? 0.0 : static_cast<double>(both) / any);
    EXPECT_EQ(mask_iou(masks[0], masks[1], true),
              first == 0 ? 0.0 : static_cast<double>(both) / first);
  }
}

TEST(Mask, OverlapOfWholePixelsEqualsThatOfBoxes) {
  RandomStream stream(9);
  for (int round = 0; round < 50; ++round) {
    const auto box = [&] {
      const auto x = static_cast<double>(stream.below(20)),
                 y = static_cast<double>(stream.below(20));
      const auto w = static_cast<double>(1 + stream.below(12)),
                 h = static_cast<double>(1 + stream.below(12));
      return Corners{x, y, x + w, y, x + w, y + h, x, y + h};
    };
    const Mask a = polygon_mask(box(), 40, 40), b = polygon_mask(box(), 40, 40);
    EXPECT_NEAR(mask_iou(a, b, false), box_iou(a.bounds(), b.bounds()), 1e-6);
  }
}

TEST(Mask, SizesMustAgree) {
  const Mask a{2, 3, {6}}, b{3, 2, {6}};
  error_of([&] { mask_iou(a, b, false); });
  error_of([&] { unite(std::vector<Mask>{a, b}); });
  expect_error(ErrorCode::kUsage, {"nothing"}, [] { unite({}); });
  expect_error(ErrorCode::kUsage, {"runs"}, [] { decode_mask({2, 3, {3, 4}}); });
}

// Runs of no length are legal in files of others.
TEST(Mask, EmptyRunsInBetween) {
  const Mask odd{2, 3, {1, 0, 2, 2, 0, 1}};
  EXPECT_EQ(odd.area(), 3);
  EXPECT_EQ(unite(std::vector<Mask>{odd}).runs, (std::vector<uint32_t>{3, 3}));
  EXPECT_EQ(mask_iou(odd, Mask{2, 3, {3, 3}}, false), 1.0);
}

}  // namespace
}  // namespace vig::test
