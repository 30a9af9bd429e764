// What a network may ask for, and at which number that ends.
#include <gtest/gtest.h>

#include "pipeline/fixtures.h"
#include "vig/graph/builder.h"
#include "vig/pipeline/model_source.h"

namespace vig::test {
namespace {

template <typename Function>
void expect_refused(const std::string& words, Function&& function,
                    ErrorCode expected = ErrorCode::kUsage) {
  ErrorCode code{};
  const std::string message = error_of(function, &code);
  EXPECT_NE(message.find(words), std::string::npos) << message;
  EXPECT_EQ(code, expected) << message;
}

TEST(WorkLimits, BlocksOfANetwork) {
  ModelSpec spec = find_model("vig_t");
  override_field(spec, "depth", "256");
  EXPECT_NO_THROW(check_depth(spec));
  override_field(spec, "depth", "257");
  expect_refused("vig_t of 257 blocks, expected at most 256 (a fixed limit)",
                 [&] { check_depth(spec); });
}

TEST(WorkLimits, BothSidesOfAnInput) {
  EXPECT_NO_THROW(check_input_size(1, 8192));
  EXPECT_NO_THROW(check_input_size(8192, 1));
  for (const auto& [height, width] :
       {std::pair(0, 64), {64, 0}, {8193, 64}, {64, 8193}, {-1, -1}}) {
    expect_refused(std::to_string(height) + "x" + std::to_string(width) + " pixels",
                   [&] { check_input_size(height, width); });
  }
}

// 16 bytes of a value for each byte of the file, or 64 MB.
TEST(WorkLimits, TheLargestValueOfABatch) {
  Builder builder;
  builder.output("same", builder.input("image", {100, 100, 4}));  // 160 kB
  const Graph graph = std::move(builder).finish();
  EXPECT_NO_THROW(check_work("file", 1, graph, 400));
  expect_refused(
      "file: 401 images of 100x100 would make a value of 64160000 bytes, expected at "
      "most 64000000 for a file of 1 bytes; give --size N",
      [&] { check_work("file", 1, graph, 401); }, ErrorCode::kInput);
  EXPECT_NO_THROW(check_work("file", 10'000'000, graph, 1000));
  expect_refused(
      "at most 160000000 for", [&] { check_work("file", 10'000'000, graph, 1001); },
      ErrorCode::kInput);
}

// 4096 multiply-adds for each byte of the file, or 1e10; an operation costs a position 512 more.
TEST(WorkLimits, TheTimeOfABatch) {
  Builder builder;
  const Value x = builder.input("image", {1, 1, 1000});
  builder.output("logits", builder.linear(x, "linear", 1000, false, normal_init(1)));
  const Graph graph = std::move(builder).finish();  // 1e6 + 512, of 4 kB values
  EXPECT_NO_THROW(check_work("file", 1, graph, 9994));
  expect_refused(
      "file: 9995 images of 1x1 would take the time of 10000117440 multiply-adds, "
      "expected at most 10000000000 for a file of 1 bytes",
      [&] { check_work("file", 1, graph, 9995); }, ErrorCode::kInput);
}

// 8 times the work for one image, at 2^18 multiply-adds more for an operation; the logits of all
// windows are kept.
TEST(WorkLimits, TheWindowsOfAnImage) {
  const auto graph = [](int classes) {
    Builder builder;
    const Value x = builder.input("image", {1, 1, 1000});
    builder.output("logits", builder.linear(x, "linear", classes, false, normal_init(1)));
    return std::move(builder).finish();
  };
  const Graph narrow = graph(1);  // 1000 + 512 + 2^19
  EXPECT_NO_THROW(check_windows("file", 1, narrow, 152149, 1));
  expect_refused(
      "file: 152150 windows of 1x1 would take the time of 80000470000 multiply-adds, expected at "
      "most 80000000000 for a file of 1 bytes; give --window N for larger windows, --whole for "
      "none, or --size N for a smaller input",
      [&] { check_windows("file", 1, narrow, 152150, 1); }, ErrorCode::kInput);
  EXPECT_NO_THROW(check_windows("file", 1, narrow, 2 * 152149, 2));
  EXPECT_NO_THROW(check_windows("file", 5'000'000, narrow, 2 * 152149, 1));
  const Graph wide = graph(1000);  // 4 kB
  EXPECT_NO_THROW(check_windows("file", 1, wide, 16000, 1));
  expect_refused(
      "file: 16001 windows of 1x1 would make logits of 64004000 bytes, expected at most 64000000",
      [&] { check_windows("file", 1, wide, 16001, 1); }, ErrorCode::kInput);
}

}  // namespace
}  // namespace vig::test
