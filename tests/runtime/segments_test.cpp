// Networks that run by segments, against a session that has the whole image in memory: the same
// bits for segments shorter than a tile and longer than the image, at ugly sizes, on any number of
// threads, with a scratch file and without.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>

#include "runtime/networks.h"
#include "support/files.h"
#include "vig/base/error.h"
#include "vig/base/scratch_file.h"
#include "vig/models/family.h"
#include "vig/runtime/segmented_session.h"

namespace vig::test {
namespace {

// Tokens of 4 x 4 pixels.
NetworkCase network_of(int rows, int cols, const std::string& model) {
  return {"segments",
          model,
          {{"classes", "5"},
           {"image_size", "20"},
           {"patch_size", "4"},
           {"embed_dim", "16"},
           {"depth", "2"},
           {"heads", "2"}},
          4 * rows,
          4 * cols};
}

SegmentedSession::ReadLines lines_of(const Graph& graph, const Values& pixels) {
  const Grid grid = graph.node(graph.inputs.at(0).node).grid;
  return [grid, &pixels](int64_t first, int64_t last, float* out) {
    const int64_t line = int64_t{grid.width} * grid.channels;
    std::copy(pixels.begin() + first * line, pixels.begin() + last * line, out);
  };
}

Values read_all(const SegmentedSession& session) {
  Values all;
  for (const Output& output : session.graph().outputs) {
    const Values values = session.output(output.name);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

Values run_segments(const Network& network, const Values& pixels, const SegmentedOptions& options) {
  SegmentedSession session(network.packed, network.graph, options);
  session.run(lines_of(network.graph, pixels));
  return read_all(session);
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class Segments : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Segments,
                         ::testing::Values("vig_t", "vig_s", "gla_t", "gla_t_bidirectional"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(Segments, GiveTheBitsOfTheWholeImage) {
  constexpr int kSizes[][2] = {{1, 10}, {4, 25}, {10, 23}, {18, 25}, {30, 31}, {3, 300}, {300, 3}};
  for (const auto& size : kSizes) {
    SCOPED_TRACE(std::to_string(size[0]) + "x" + std::to_string(size[1]));
    const Network network(network_of(size[0], size[1], GetParam()));
    const Values pixels = network.image(1);
    Session whole = network.session({.batch = 1, .threads = 2});
    const Values expected = run_alone(whole, pixels);
    for (const int64_t rows : {1, 30, 112, 113, 400, 100000}) {
      for (const int threads : {1, 2, 5}) {
        for (const bool in_file : {false, true}) {
          const Values actual =
              run_segments(network, pixels, {.threads = threads, .rows = rows, .in_file = in_file});
          expect_same_bits(actual, expected,
                           std::to_string(rows) + " rows on " + std::to_string(threads) +
                               (in_file ? " threads, in a file" : " threads"));
        }
      }
    }
  }
}

// Every network of the runtime's tests runs by segments with the same bits or is refused in one
// sentence.
TEST(Segments, EveryNetworkRunsOrIsRefused) {
  std::set<std::string> refused;
  for (const NetworkCase& description : network_cases()) {
    SCOPED_TRACE(description.name);
    const Network network(description);
    const Values pixels = network.image(1);
    Session whole = network.session({.batch = 1, .threads = 1});
    const Values expected = run_alone(whole, pixels);
    for (const int64_t rows : {3, 40}) {
      const std::string message = message_of([&] {
        expect_same_bits(run_segments(network, pixels, {.threads = 2, .rows = rows}), expected,
                         description.name);
      });
      if (!message.empty()) refused.insert(description.name);
    }
  }
  for (const char* name : {"test_vig", "test_vig_odd", "test_vig_one_token", "test_vig_h",
                           "test_vig_h_odd", "test_vig_h_one_pixel", "vig_t_wide", "vig_s_plain",
                           "layer_scale", "ugly_widths", "wide_keys", "same_cells_high", "gla_t",
                           "gla_t_stem", "gla_t_gated", "vig_h_three_stages"}) {
    EXPECT_FALSE(refused.contains(name)) << name;
  }
  for (const char* name : {"test_deit", "test_swin", "test_resnet", "gla_t_vim", "test_vim"}) {
    EXPECT_TRUE(refused.contains(name)) << name;
  }
}

TEST(Segments, Int8NetworksGiveTheSameBits) {
  const Network network(network_case("vig_t_wide"), 1, {.arithmetic = Arithmetic::kInt8});
  const Values pixels = network.image(1);
  Session whole = network.session({.batch = 1, .threads = 1});
  const Values expected = run_alone(whole, pixels);
  for (const bool in_file : {false, true}) {
    expect_same_bits(run_segments(network, pixels, {.threads = 2, .rows = 20, .in_file = in_file}),
                     expected, in_file ? "in a file" : "in memory");
  }
}

TEST(Segments, ReadEveryLineOnceInOrder) {
  const Network network(network_of(30, 20, "vig_t"));
  const Values pixels = network.image(1);
  const auto lines = lines_of(network.graph, pixels);
  SegmentedSession session(network.packed, network.graph, {.threads = 3, .rows = 50});
  int64_t next = 0, most = 0;
  std::atomic<int> inside{0};
  session.run([&](int64_t first, int64_t last, float* out) {
    EXPECT_EQ(inside.fetch_add(1), 0);
    EXPECT_EQ(first, next);
    next = last;
    most = std::max(most, last - first);
    lines(first, last, out);
    inside.fetch_sub(1);
  });
  EXPECT_EQ(next, 120);
  EXPECT_LT(most, 40);
}

TEST(Segments, RunAgainAndAfterAnInputThatFails) {
  const Network network(network_of(20, 25, "vig_t"));
  const Values first = network.image(1), second = network.image(2);
  SegmentedSession session(network.packed, network.graph,
                           {.threads = 2, .rows = 60, .in_file = true});
  session.run(lines_of(network.graph, first));
  const Values expected = read_all(session);
  const auto lines = lines_of(network.graph, first);
  EXPECT_THROW(session.run([&](int64_t from, int64_t to, float* out) {
    if (from > 30) throw std::runtime_error("the file ends");
    lines(from, to, out);
  }),
               std::runtime_error);
  session.run(lines_of(network.graph, second));
  EXPECT_NE(read_all(session), expected);
  session.run(lines_of(network.graph, first));
  expect_same_bits(read_all(session), expected, "the first image again");
}

TEST(Segments, OnlyOutputsThatAreAskedForAreKept) {
  const Network network(network_of(20, 25, "vig_t"));
  const Values pixels = network.image(1);
  Session whole = network.session({.batch = 1, .threads = 1});
  set_input(whole, 0, pixels);
  whole.run(1);
  const SegmentedOptions all{.threads = 2, .rows = 60};
  SegmentedOptions some = all;
  some.outputs = {"pooled"};
  SegmentedSession session(network.packed, network.graph, some);
  EXPECT_LT(session.bytes(), SegmentedSession(network.packed, network.graph, all).bytes());
  session.run(lines_of(network.graph, pixels));
  const Values pooled = session.output("pooled");
  const float* expected = whole.output("pooled", 0);
  expect_same_bits(pooled, {expected, expected + pooled.size()}, "pooled");
  EXPECT_NE(message_of([&] { session.output("features"); }).find("not asked for"),
            std::string::npos);
  some.outputs = {"boxes"};
  EXPECT_NE(message_of([&] {
              SegmentedSession(network.packed, network.graph, some);
            }).find("no output 'boxes'"),
            std::string::npos);
}

// The residual stream alone has the length of the image, and lies in a file if it must.
TEST(Segments, MemoryFollowsTheLimit) {
  const auto bytes_at = [](const Network& packed, int side, uint64_t limit) {
    const ModelSpec spec = find_model("vig_t");
    SegmentedSession session(packed.packed, build_graph(spec, side, side),
                             {.max_bytes = limit, .outputs = {"pooled"}, .threads = 2});
    EXPECT_LE(session.bytes(), limit);
    return std::pair(session.bytes(), session.file_bytes());
  };
  const Network network({"vig_t", "vig_t", {}, 224, 224});
  const uint64_t stream = uint64_t{256} * 256 * 192 * 4;
  const auto [memory, no_file] = bytes_at(network, 4096, 120'000'000);
  EXPECT_EQ(no_file, 0u);
  EXPECT_GT(memory, stream);
  const auto [less, file] = bytes_at(network, 4096, 40'000'000);
  EXPECT_EQ(file, stream);
  EXPECT_LT(less, stream);
  const std::string message = message_of([&] { bytes_at(network, 4096, 1'000'000); });
  EXPECT_NE(message.find("bytes of memory, more than the 1000000 allowed"), std::string::npos)
      << message;
}

TEST(ScratchFile, LeavesNothingBehindAndSaysWhatIsWrong) {
  const TempDir folder;
  {
    ScratchFile file(folder.path().string(), 1000);
    file.write(400, "some bytes", 10);
    char back[10] = {};
    file.read(400, back, 10);
    EXPECT_EQ(std::string(back, 10), "some bytes");
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    EXPECT_NE(message_of([&] { file.read(995, back, 10); }).find("cannot read a scratch file"),
              std::string::npos);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  const std::string full =
      message_of([&] { ScratchFile(folder.path().string(), int64_t{1} << 60); });
  EXPECT_NE(full.find("no room for a scratch file of 1152921504606846976 bytes"), std::string::npos)
      << full;
  EXPECT_NE(full.find(folder.path().string()), std::string::npos);
  const std::string missing = message_of([&] { ScratchFile((folder / "none").string(), 10); });
  EXPECT_NE(missing.find("none: cannot make a scratch file"), std::string::npos) << missing;
}

}  // namespace
}  // namespace vig::test
