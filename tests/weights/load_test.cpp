#include "vig/weights/load.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "support/errors.h"
#include "support/files.h"
#include "support/zip_bytes.h"
#include "vig/graph/init.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

struct Sample {
  TempDir dir;
  std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  std::vector<double> doubles = {0.5, 0.25};
  std::vector<uint16_t> halves = {0x3c00, 0xc000, 0x3800};   // 1, -2, 0.5
  std::vector<uint16_t> bfloats = {0x3f80, 0xc000, 0x3f00};  // the same
  std::vector<int64_t> longs = {7};

  std::shared_ptr<const Checkpoint> checkpoint() const {
    const std::string path = dir / "x.safetensors";
    write_safetensors(path, std::vector<NamedTensor>{
                                {"f32", {floats.data(), DType::kF32, {2, 3}}},
                                {"f64", {doubles.data(), DType::kF64, {2}}},
                                {"f16", {halves.data(), DType::kF16, {3}}},
                                {"bf16", {bfloats.data(), DType::kBF16, {3}}},
                                {"bn.num_batches_tracked", {longs.data(), DType::kI64, Shape{}}}});
    return std::make_shared<const Checkpoint>(Checkpoint::open(path));
  }
};

const LoadOptions kIgnoreCounters = {.ignore_unexpected = [](std::string_view name) {
  return name.ends_with(".num_batches_tracked");
}};

TEST(Load, BindsEveryFloatType) {
  const Sample sample;
  auto checkpoint = sample.checkpoint();
  const std::vector<ParamSpec> specs = {
      {"bf16", {3}, {}}, {"f32", {2, 3}, {}}, {"f16", {3}, {}}, {"f64", {2}, {}}};
  const auto weights = load_weights(specs, checkpoint, kIgnoreCounters);
  ASSERT_EQ(weights->size(), 4u);
  // F32 is used where it lies, the others are converted into aligned memory.
  EXPECT_EQ(weights->data(1), checkpoint->find("f32")->view.data);
  EXPECT_EQ(weights->owned_bytes(), 0u) << "before anybody asks for floats";
  for (size_t i : {0u, 2u, 3u}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(weights->data(i)) % 64, 0u);
  }
  checkpoint.reset();  // the weights keep the mapping alive
  EXPECT_EQ(weights->find("f32")[5], 6);
  EXPECT_EQ(weights->find("f64")[1], 0.25f);
  for (const char* name : {"f16", "bf16"}) {
    const float* values = weights->find(name);
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[1], -2);
    EXPECT_EQ(values[2], 0.5f);
  }
  EXPECT_EQ(weights->index("f16"), 2u);
  EXPECT_EQ(weights->spec(2).name, "f16");
  EXPECT_EQ(weights->find("absent"), nullptr);
  EXPECT_THROW(weights->index("absent"), Error);
}

// Such as the length of a kernel.
TEST(Load, WholeNumbersThatNoGradientChanges) {
  const Sample sample;
  ParamSpec count{"bn.num_batches_tracked", Shape{}, {}};
  count.trained = false;
  LoadOptions options;
  options.ignore_unexpected = [](std::string_view) { return true; };
  EXPECT_EQ(*load_weights({&count, 1}, sample.checkpoint(), options)->data(0), 7.0f);
}

// Files from elsewhere need no alignment; what reads weights does.
TEST(Load, UnalignedFloatsAreCopied) {
  const std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
  const std::string padded = header + std::string(8 - header.size() % 8, ' ');
  const std::string bytes = little_endian(padded.size(), 8) + padded + "x" +
                            little_endian(0x3fc00000, 4) + little_endian(0xc0000000, 4);
  const auto checkpoint = std::make_shared<const Checkpoint>(Checkpoint::from_bytes(
      "x", {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()}));
  const ParamSpec spec{"b", {2}, {}};
  const auto weights = load_weights({&spec, 1}, checkpoint,
                                    {.ignore_unexpected = [](std::string_view) { return true; }});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(weights->data(0)) % 64, 0u);
  EXPECT_EQ(weights->data(0)[0], 1.5f);
  EXPECT_EQ(weights->data(0)[1], -2.0f);
  EXPECT_GE(weights->owned_bytes(), 8u);
}

// Counts are I64 in every checkpoint; other whole numbers are no weights, trained or not.
TEST(Load, OtherWholeNumbersAreRefused) {
  const TempDir dir;
  const std::string path = dir / "x.safetensors";
  const int32_t value = 7;
  write_safetensors(path, std::vector<NamedTensor>{{"a", {&value, DType::kI32, {1}}}});
  ParamSpec spec{"a", {1}, {}};
  for (const bool trained : {true, false}) {
    spec.trained = trained;
    const std::string message = error_of([&] {
      load_weights({&spec, 1}, std::make_shared<const Checkpoint>(Checkpoint::open(path)));
    });
    EXPECT_TRUE(message.ends_with("\n  misshapen a: expected floating point, found I32"))
        << message;
  }
}

TEST(Load, CodesHaveScalesBesideThem) {
  const TempDir dir;
  const std::string path = dir / "x.safetensors";
  const std::vector<int8_t> codes = {1, -2, 63, 0, 5, -63};
  const std::vector<float> scales = {0.5f, 2.0f};
  const ParamSpec spec{"a", {2, 3}, {}};
  const auto load = [&](std::vector<NamedTensor> tensors) {
    write_safetensors(path, tensors);
    return load_weights({&spec, 1}, std::make_shared<const Checkpoint>(Checkpoint::open(path)));
  };
  const NamedTensor a = {"a", {codes.data(), DType::kI8, {2, 3}}};
  const auto weights = load({a, {"a_scale", {scales.data(), DType::kF32, {2}}}});
  ASSERT_NE(weights->scales(0), nullptr);
  EXPECT_EQ(weights->stored(0).dtype, DType::kI8);
  const std::vector<float> expected = {0.5f, -1.0f, 31.5f, 0.0f, 10.0f, -126.0f};
  const Floats floats = weights->floats(0);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), floats.data()));
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), weights->data(0)));
  EXPECT_NE(error_of([&] { load({a}); }).find("a: found I8, expected a_scale"), std::string::npos);
  const NamedTensor wrong = {"a_scale", {scales.data(), DType::kF32, {1}}};
  EXPECT_NE(error_of([&] { load({a, wrong}); }).find("found F32 [1]"), std::string::npos);
}

TEST(Load, FloatsOfHalvesKeepNoCopy) {
  const Sample sample;
  const ParamSpec spec{"f16", {3}, {}};
  LoadOptions options;
  options.ignore_unexpected = [](std::string_view) { return true; };
  const auto weights = load_weights({&spec, 1}, sample.checkpoint(), options);
  EXPECT_EQ(weights->floats(0).data()[1], -2.0f);
  EXPECT_EQ(weights->owned_bytes(), 0u);
  weights->release_pages();
  EXPECT_EQ(weights->data(0)[2], 0.5f) << "pages can be read again";
  EXPECT_GT(weights->owned_bytes(), 0u);
}

TEST(Load, NamesOfFilesDoNotSteerTheTerminal) {
  const TempDir dir;
  const std::string path = dir / "x.safetensors";
  const float value = 7;
  write_safetensors(path, std::vector<NamedTensor>{{"a\x1b[2J", {&value, DType::kF32, {1}}}});
  const std::string message = error_of(
      [&] { load_weights({}, std::make_shared<const Checkpoint>(Checkpoint::open(path))); });
  EXPECT_TRUE(message.ends_with("\n  unexpected a\\x1b[2J [1]")) << message;
}

TEST(Load, OneErrorListsEverything) {
  const Sample sample;
  const std::vector<ParamSpec> specs = {{"f32", {3, 2}, {}},
                                        {"f64", {2}, {}},
                                        {"head.weight", {10, 64}, {}},
                                        {"head.bias", {10}, {}},
                                        {"bn.num_batches_tracked", Shape{}, {}}};
  const std::string message = error_of([&] { load_weights(specs, sample.checkpoint()); });
  for (const char* part :
       {"x.safetensors: expected the 5 tensors", "2 missing", "2 unexpected", "2 of another shape",
        "\n  missing head.weight [10, 64]", "\n  missing head.bias [10]", "\n  unexpected f16 [3]",
        "\n  unexpected bf16 [3]", "\n  misshapen f32: expected [3, 2], found [2, 3]",
        "\n  misshapen bn.num_batches_tracked: expected floating point, found "
        "I64"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in\n" << message;
  }
}

TEST(Load, LongListsAreCut) {
  const Sample sample;
  std::vector<ParamSpec> specs;
  for (int i = 0; i < 50; ++i) specs.push_back({fmt::format("p{}", i), {1}, {}});
  const std::string message = error_of([&] { load_weights(specs, sample.checkpoint()); });
  EXPECT_NE(message.find("50 missing"), std::string::npos);
  EXPECT_NE(message.find("\n  missing p19 [1]\n  missing and 30 more\n"), std::string::npos);
  specs.resize(20);
  const std::string whole = error_of([&] { load_weights(specs, sample.checkpoint()); });
  EXPECT_NE(whole.find("\n  missing p19 [1]\n  unexpected "), std::string::npos) << whole;
}

TEST(Load, UnexpectedTensorsAreIgnoredOnlyWhenAsked) {
  const Sample sample;
  const auto checkpoint = sample.checkpoint();
  const std::vector<ParamSpec> specs = {
      {"bf16", {3}, {}}, {"f32", {2, 3}, {}}, {"f16", {3}, {}}, {"f64", {2}, {}}};
  EXPECT_FALSE(survives([&] { load_weights(specs, checkpoint); }));
  EXPECT_TRUE(survives([&] { load_weights(specs, checkpoint, kIgnoreCounters); }));
}

std::vector<float> draw(const std::string& name, Init init, int64_t count, uint64_t seed = 1) {
  std::vector<float> values(static_cast<size_t>(count));
  fill_random({name, {count}, init}, seed, values.data());
  return values;
}

struct Moments {
  double mean = 0, deviation = 0, low = 1e30, high = -1e30;

  explicit Moments(const std::vector<float>& values) {
    for (float v : values) {
      mean += v / static_cast<double>(values.size());
      low = std::min<double>(low, v);
      high = std::max<double>(high, v);
    }
    for (float v : values) {
      deviation += (v - mean) * (v - mean) / static_cast<double>(values.size());
    }
    deviation = std::sqrt(deviation);
  }
};

TEST(RandomWeights, FollowTheirInit) {
  constexpr int64_t kCount = 200'000;
  const Moments normal(draw("a", normal_init(0.5f), kCount));
  EXPECT_NEAR(normal.mean, 0, 0.005);
  EXPECT_NEAR(normal.deviation, 0.5, 0.005);
  EXPECT_GT(normal.high, 1.9);
  EXPECT_LT(normal.low, -1.9);

  const Moments narrow(draw("a", truncated_normal_init(0.02f), kCount));
  EXPECT_NEAR(narrow.deviation, 0.02, 0.0002);
  EXPECT_GT(narrow.high, 0.07);  // not cut at two deviations

  const Moments wide(draw("a", truncated_normal_init(1.0f), kCount));
  EXPECT_NEAR(wide.deviation, 0.8796, 0.005);  // of a standard normal cut at 2
  EXPECT_LE(wide.high, 2);
  EXPECT_GE(wide.low, -2);
  const auto redrawn = draw("a", truncated_normal_init(1.0f), 20'000);
  EXPECT_GT(std::set(redrawn.begin(), redrawn.end()).size(), 19'800u);

  const Moments uniform(draw("a", uniform_init(3.0f), kCount));
  EXPECT_NEAR(uniform.mean, 0, 0.02);
  EXPECT_NEAR(uniform.deviation, 3 / std::sqrt(3.0), 0.01);
  EXPECT_GE(uniform.low, -3);
  EXPECT_LE(uniform.high, 3);

  EXPECT_EQ(draw("a", Init{}, 3), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(draw("a", ones_init(), 3), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(draw("a", constant_init(0.1f), 2), (std::vector<float>{0.1f, 0.1f}));
  // A deviation that almost never falls inside still ends.
  const Moments absurd(draw("a", truncated_normal_init(1e20f), 100));
  EXPECT_LE(absurd.high, 2);
}

// A family's own rule: inverse softplus of a log-uniform value, in rows that count up.
void counted_step_sizes(const FreshParam& param, float low, float high) {
  for (size_t i = 0; i < param.values.size(); ++i) {
    const float unit = unit_open_above(param.random.bits_at(i));
    const float step = std::exp(std::log(low) + unit * (std::log(high) - std::log(low)));
    param.values[i] = step + std::log(-std::expm1(-step)) +
                      100.0f * static_cast<float>(static_cast<int64_t>(i) % param.shape[-1]);
  }
}

TEST(RandomWeights, FollowARuleOfAFamily) {
  std::vector<float> values(40), again(40);
  const ParamSpec spec{"dt", {10, 4}, Init{counted_step_sizes, 1e-3f, 0.1f}};
  fill_random(spec, 1, values.data());
  fill_random(spec, 1, again.data());
  EXPECT_EQ(values, again);
  std::set<float> different;
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = values[i] - 100.0 * static_cast<double>(i % 4);
    EXPECT_GT(std::log1p(std::exp(value)), 0.9e-3);
    EXPECT_LT(std::log1p(std::exp(value)), 0.11);
    different.insert(values[i]);
  }
  EXPECT_GT(different.size(), 35u);
}

TEST(RandomWeights, NeighboursAreIndependent) {
  const auto values = draw("a", normal_init(1.0f), 200'000);
  for (size_t lag : {1u, 2u, 3u}) {
    double product = 0;
    for (size_t i = 0; i + lag < values.size(); ++i) product += values[i] * values[i + lag];
    EXPECT_NEAR(product / static_cast<double>(values.size()), 0, 0.01) << lag;
  }
}

TEST(RandomWeights, DependOnSeedAndNameAlone) {
  const ParamSpec a{"a", {5}, normal_init(1.0f)};
  const ParamSpec b{"b", {7}, normal_init(1.0f)};
  const auto one = random_weights(std::vector{a, b}, 3);
  const auto two = random_weights(std::vector{b, a}, 3);
  const auto other = random_weights(std::vector{a, b}, 4);
  EXPECT_TRUE(std::equal(one->find("a"), one->find("a") + 5, two->find("a")));
  EXPECT_TRUE(std::equal(one->find("b"), one->find("b") + 7, two->find("b")));
  EXPECT_FALSE(std::equal(one->find("a"), one->find("a") + 5, other->find("a")));
  EXPECT_FALSE(std::equal(one->find("a"), one->find("a") + 5, one->find("b")));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(one->data(1)) % 64, 0u);
}

}  // namespace
}  // namespace vig::test
