// The session's contract besides the numbers.
#include "vig/runtime/session.h"
#include "support/init.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "runtime/networks.h"
#include "vig/base/error.h"
#include "vig/base/processors.h"
#include "vig/graph/builder.h"

namespace vig::test {
namespace {

template <typename Function>
void expect_usage_error(Function&& function, const std::string& about) {
  try {
    function();
    ADD_FAILURE() << "no error about " << about;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_NE(std::string(error.what()).find(about), std::string::npos) << error.what();
  }
}

TEST(Session, SaysWhatItHas) {
  const Network network(network_case("test_vig"));
  Session session = network.session({.batch = 3, .threads = 2});
  EXPECT_EQ(session.batch(), 3);
  EXPECT_EQ(session.threads(), 2);
  EXPECT_EQ(session.graph().param_count(), network.graph.param_count());
  EXPECT_GE(session.arena_bytes(), 3u * 64 * 64 * 3 * sizeof(float));
  EXPECT_GT(session.scratch_bytes(), 0u);
  EXPECT_EQ(network.session({.threads = 0}).threads(), default_threads());
}

TEST(Session, RefusesWhatDoesNotExist) {
  const Network network(network_case("test_vig"));
  expect_usage_error([&] { network.session({.batch = 0}); }, "batch is 0");
  expect_usage_error([&] { network.session({.slots = 0}); }, "0 slots");
  const auto pool = std::make_shared<ThreadPool>(2);
  expect_usage_error([&] { network.session({.threads = 3, .thread_pool = pool}); },
                     "3 threads on a thread pool of 2");
  expect_usage_error([&] { network.session({.threads = 1, .thread_pool = pool}); },
                     "1 threads on a thread pool of 2");
  Session session = network.session({.batch = 2, .threads = 1});
  expect_usage_error([&] { session.run(0); }, "0 images");
  expect_usage_error([&] { session.run(3); }, "at most 2");
  expect_usage_error([&] { session.run(1, 1); }, "slot 1");
  expect_usage_error([&] { session.run(-1); }, "-1 images");
  expect_usage_error([&] { session.run(1, -1); }, "slot -1");
  expect_usage_error([&] { session.input(0, 1); }, "slot 1");
  expect_usage_error([&] { session.input(0, -1); }, "slot -1");
  expect_usage_error([&] { session.input(2); }, "image 2");
  expect_usage_error([&] { session.input(-1); }, "image -1");
  expect_usage_error([&] { session.output("boxes", 0); }, "boxes");
  const std::string& output = network.graph.outputs.at(0).name;
  expect_usage_error([&] { session.output(output, 2); }, "image 2");
  expect_usage_error([&] { session.output(output, -1); }, "image -1");
  const int inner = network.graph.find_module("blocks.0.attn_norm");
  expect_usage_error([&] { session.value(inner, 0); }, "was not kept");
  const int nodes = static_cast<int>(network.graph.nodes.size());
  for (const int node : {-1, nodes}) {
    const std::string value = "value " + std::to_string(node);
    expect_usage_error([&] { session.value(node, 0); }, value + " of image 0");
    expect_usage_error([&] { network.session({.keep = {node}}); }, value + " to be kept");
  }
}

// Learned rows alone: nothing is given before the run.
TEST(Session, AGraphMayHaveNoInputs) {
  Builder b;
  b.output("rows", b.layer_norm(b.tokens("rows", 5, 8, kInit), "norm", 1e-5f));
  const Graph graph = std::move(b).finish();
  Session session(graph, lively_weights(graph, 1), {.threads = 2, .slots = 2});
  session.run(1, 1);
  EXPECT_NE(read_outputs(session, 0), Values(40, 0.0f));
  expect_usage_error([&] { session.input(0); }, "no inputs");
  expect_usage_error([&] { session.input("image", 0); }, "no input 'image'");
}

// In every thread that works, and in the caller's only while it does.
TEST(Session, NumbersBelowTheSmallestNormalOneAreZero) {
  const float tiny = 4e-39f;
  Builder b;
  const Value x = b.input("x", {40, 40, 8});
  b.output("sum", b.add(x, x));
  const Graph graph = std::move(b).finish();
  for (const int threads : {1, 2}) {
    for (const bool alone : {false, true}) {
      Session session(graph, lively_weights(graph, 1), {.threads = threads});
      std::fill_n(session.input(0), 40 * 40 * 8, tiny);
      session.run(1, 0, alone);
      EXPECT_EQ(read_outputs(session, 0), Values(40 * 40 * 8, 0.0f));
      volatile float outside = tiny;
      outside = outside + outside;
      EXPECT_GT(outside, 0.0f);
    }
  }
}

TEST(Session, RefusesAGraphOfAnotherModel) {
  const Network network(network_case("test_vig"));
  const auto expect_refused = [&](const std::string& model, const Fields& fields,
                                  const std::string& about) {
    const Graph other = NetworkCase{"", model, fields, 64, 64}.graph();
    expect_usage_error([&] { Session(network.packed, other, {.threads = 1}); }, about);
  };
  expect_refused("test_vig_h", {}, "a graph of another model");
  expect_refused("test_vig", {{"classes", "11"}},
                 "is head.weight [11, 64] in one and head.weight [10, 64] in the other");
  expect_refused("test_vig", {{"depth", "3"}}, "a graph of another model");
  expect_refused("test_vig", {{"depth", "1"}}, "a graph of another model");
}

// The first session packs what later ones of every size share.
TEST(Session, PacksItsOwnWeights) {
  NetworkCase description = network_case("test_vig");
  const Network network(description);
  Session first(network.graph, network.weights, {.threads = 2});
  Session alone = network.session({.threads = 1});
  const Values pixels = network.image(1);
  expect_same_bits(run_alone(first, pixels), run_alone(alone, pixels), "the first session");
  EXPECT_EQ(first.model()->bytes(), network.packed->bytes());

  description.width = 96;
  const Graph wide = description.graph();
  Session shared(first.model(), wide, {.thread_pool = first.thread_pool()});
  EXPECT_EQ(shared.threads(), 2);
  Session expected(network.packed, wide, {.threads = 1});
  const Values wide_pixels = image(64, 96, 1);
  expect_same_bits(run_alone(shared, wide_pixels), run_alone(expected, wide_pixels),
                   "a later session");
}

TEST(Session, SaysHowMuchMemoryItWillTake) {
  const Network network(network_case("test_vig"));
  size_t said = 0;
  const Session session = network.session(
      {.batch = 2, .threads = 2, .slots = 3, .before_memory = [&](size_t b) { said = b; }});
  EXPECT_EQ(said, session.bytes());  // position tables fit as they are, so nothing is added
}

// Each slot keeps its own images, whichever runs.
TEST(Session, HoldsSeveralSlots) {
  constexpr int kSlots = 3, kBatch = 2;
  const Network network(network_case("test_vig"));
  Session alone = network.session({.threads = 1});
  Session session = network.session({.batch = kBatch, .threads = 2, .slots = kSlots});
  EXPECT_EQ(session.slots(), kSlots);
  std::vector<Values> pixels, expected;
  for (int i = 0; i < kSlots * kBatch; ++i) {
    pixels.push_back(network.image(10 + i));
    expected.push_back(run_alone(alone, pixels.back()));
    std::copy(pixels.back().begin(), pixels.back().end(), session.input(i % kBatch, i / kBatch));
  }
  for (const int slot : {2, 0, 1, 1, 2}) {
    session.run(kBatch, slot);
    for (int image = 0; image < kBatch; ++image) {
      const size_t i = static_cast<size_t>(slot * kBatch + image);
      expect_same_bits(read_outputs(session, image), expected[i], "image " + std::to_string(i));
      expect_same_bits(read_value(session, 0, image), pixels[i], "pixels " + std::to_string(i));
      // By its name it is the first slot of the input, whichever ran last.
      EXPECT_EQ(session.input(session.graph().inputs[0].name, image), session.input(image, 0));
    }
  }
}

// What calls keep besides the plan's memory: tables fitted to the grid, orders, folded norms.
TEST(Session, CountsWhatItsCallsKeep) {
  constexpr int64_t kFloat = sizeof(float);
  struct Case {
    const char* name;
    int64_t bytes;
    Value (*build)(Builder& b, Value x);
  };
  const Case cases[] = {
      {"nothing", 0, [](Builder& b, Value x) { return b.activation(x, Elementwise::kSilu); }},
      {"a table that fits", 0,
       [](Builder& b, Value x) { return b.add_position(x, "table", 4, 6, kInit); }},
      {"a resized table", 4 * 6 * 8 * kFloat,
       [](Builder& b, Value x) { return b.add_position(x, "table", 3, 3, kInit); }},
      {"rotary tables", 2 * 4 * 6 * 8 * kFloat,
       [](Builder& b, Value x) {
         return b.rotary(x, {"cos", "sin", kInit, kInit}, {.rows = 3, .cols = 3});
       }},
      {"a norm of its own", 2 * 8 * kFloat,
       [](Builder& b, Value x) { return b.batch_norm(x, "norm"); }},
      {"an order", 4 * 6 * int64_t{sizeof(int32_t)},
       [](Builder& b, Value x) {
         const ScanPath columns{ScanOrder::kColumns};
         return b.conv1d(x, "conv", {3, 0, 0, columns, true}, kInit, kInit);
       }},
      // Of each window the rows and labels of its tokens, and whether labels differ.
      {"windows", 4 * (2 * 6 * int64_t{sizeof(int32_t)} + 1),
       [](Builder& b, Value x) {
         const Value qkv = b.linear(x, "qkv", 24, true, kInit);
         return b.window_attention(qkv, "table", "qkv.bias", {2, 2, 3, true}, kInit);
       }},
  };
  for (const Case& c : cases) {
    Builder b;
    b.output("y", c.build(b, b.input("x", {4, 6, 8})));
    const Graph graph = std::move(b).finish();
    size_t said = 0;
    const Session session(graph, lively_weights(graph, 1),
                          {.threads = 1, .before_memory = [&](size_t bytes) { said = bytes; }});
    EXPECT_EQ(static_cast<int64_t>(session.bytes()) - static_cast<int64_t>(said), c.bytes)
        << c.name;
  }
}

TEST(Session, ProfileCountsTheWorkOfAllRuns) {
  const Network network(network_case("test_vig"));
  Session session = network.session({.batch = 2, .threads = 2, .profile = true});
  for (int i = 0; i < 2; ++i) set_input(session, i, network.image(i));
  session.run(2);
  session.run(1);
  MacCount sum;
  double seconds = 0;
  std::set<std::string> kinds;
  const std::vector<ProfileEntry> profile = session.profile();
  for (const ProfileEntry& entry : profile) {
    EXPECT_TRUE(kinds.insert(entry.kind).second) << entry.kind;
    EXPECT_GT(entry.seconds, 0) << entry.kind;
    sum += entry.macs;
    seconds += entry.seconds;
  }
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(sum.dense, 3 * count_macs(network.graph).dense);
  EXPECT_EQ(sum.scan, 3 * count_macs(network.graph).scan);
  EXPECT_TRUE(kinds.contains("scan"));
  EXPECT_TRUE(std::is_sorted(profile.begin(), profile.end(), [](const auto& a, const auto& b) {
    return a.seconds > b.seconds;
  })) << "the most expensive kind comes first";
}

// Every moment is booked to one call: in one thread they cannot add up to more than has passed.
TEST(Session, ProfileBooksNoTimeTwice) {
  const Network network(network_case("test_vig"));
  Session session = network.session({.threads = 1, .profile = true});
  set_input(session, 0, network.image(1));
  const auto start = std::chrono::steady_clock::now();
  for (int run = 0; run < 3; ++run) session.run(1);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  double seconds = 0;
  for (const ProfileEntry& entry : session.profile()) seconds += entry.seconds;
  EXPECT_GT(seconds, 0);
  EXPECT_LE(seconds, passed.count());
}

TEST(Session, ProfileAddsUpTheWorkers) {
  const Network network(network_case("test_vig"));
  Session session = network.session({.threads = 2, .profile = true});
  set_input(session, 0, network.image(1));
  session.run(1, 0, true);  // in the caller's thread alone: the last worker has nothing to add
  double seconds = 0;
  for (const ProfileEntry& entry : session.profile()) seconds += entry.seconds;
  EXPECT_GT(seconds, 0);
}

// A value that nobody reads is computed into nobody's memory.
TEST(Session, UnreadValuesDoNoHarm) {
  const auto build = [](bool unread) {
    Builder b;
    const Value input = b.input("image", {24, 24, 3});
    Value x = b.conv(input, "stem", 32, {4, 4, 0});
    const Value qkv = b.linear(x, "qkv", 64, false, kInit);
    const Value gate = b.linear(x, "gate", 32, true, kInit);
    const GlaOp op{2, 8, 16, GlaDirection::kBoth};
    if (unread) b.gla(qkv, gate, op);
    const Value o = b.gla(qkv, gate, op);
    if (unread) {
      b.mean_pool(o);
      b.linear(o, "unread", 200, false, kInit);
      b.depthwise_conv(o, "unread_conv", {}, kInit);
    }
    x = b.add(x, b.linear(o, "out", 32, false, kInit));
    b.output("pooled", b.mean_pool(x));
    return std::move(b).finish();
  };
  const Values pixels = image(24, 24, 1);
  std::vector<Values> results;
  for (bool unread : {false, true}) {
    const Graph graph = build(unread);
    const auto weights = lively_weights(graph, 1);
    Session session(PackedModel::make(graph, weights), graph, {.batch = 1, .threads = 2});
    results.push_back(run_alone(session, pixels));
  }
  expect_same_bits(results[1], results[0], "with unread values");
}

}  // namespace
}  // namespace vig::test
