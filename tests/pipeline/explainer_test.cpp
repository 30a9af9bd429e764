// Evidence and attention: exact views, checked against the classifier and against the scan itself.
#include "vig/pipeline/explainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/base/random.h"
#include "vig/kernels/reference/attention.h"
#include "vig/kernels/reference/gla.h"
#include "vig/pipeline/classifier.h"
#include "vig/pipeline/run_images.h"
#include "vig/tasks/explanation.h"

namespace vig::test {
namespace {

ModelSource made(const std::string& model, const TempDir& folder) {
  const std::string file = (folder / (model + ".safetensors")).string();
  write_bare(find_model(model), file);
  ModelRequest request;
  request.model = file;
  request.arch = model;
  return find_source(request);
}

ImageFiles two_images() {
  return ImageFiles({image_file("photos/cat_chelsea.png"), image_file("photos/flower.webp")});
}

std::vector<float> random_values(size_t count, uint64_t seed, float scale) {
  std::vector<float> values(count);
  const RandomStream random(seed);
  for (size_t i = 0; i < count; ++i) {
    values[i] = scale * (static_cast<float>(random.bits_at(i) >> 40) / float(1 << 23) - 1.0f);
  }
  return values;
}

std::vector<ImageEvidence> evidence(const ModelSource& source, int about, int against = -1) {
  std::vector<ImageEvidence> all;
  Explainer(source).evidence(two_images(), {about, against}, collect_results(all));
  return all;
}

std::vector<ImageAttention> attention(const ModelSource& source,
                                      const Explainer::AttentionRequest& request,
                                      const RunOptions& options = {}) {
  std::vector<ImageAttention> all;
  Explainer(source, options).attention(two_images(), request, collect_results(all));
  return all;
}

double mean(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(Evidence, ItsMeanIsTheLogit) {
  const TempDir folder;
  for (const char* model : {"test_vig", "test_vig_h", "test_resnet"}) {
    const ModelSource source = made(model, folder);
    const auto results = Classifier(source).classify(two_images(), 10);
    for (const int label : {-1, 0, 7}) {
      const auto found = evidence(source, label);
      ASSERT_EQ(found.size(), 2u);
      for (size_t i = 0; i < 2; ++i) {
        const Evidence& one = found[i].prediction;
        const auto& scores = results[i].prediction.scores;
        const auto expected =
            label < 0 ? scores.begin()
                      : std::ranges::find_if(scores, [&](auto& s) { return s.index == label; });
        EXPECT_EQ(one.about, *expected) << model;
        EXPECT_NEAR(mean(one.map.values), expected->logit, 1e-5) << model;
        EXPECT_GT(one.map.values.size(), 1u);
      }
    }
    const auto against = evidence(source, 3, 4);
    for (const ImageEvidence& one : against) {
      EXPECT_NEAR(mean(one.prediction.map.values),
                  one.prediction.about.logit - one.prediction.against->logit, 1e-5);
    }
  }
}

TEST(Evidence, NetworksWithoutItSaySo) {
  const TempDir folder;
  const ModelSource source = made("test_deit", folder);
  ErrorCode code;
  const std::string sentence = error_of([&] { evidence(source, -1); }, &code);
  EXPECT_NE(sentence.find("not linear"), std::string::npos) << sentence;
  EXPECT_EQ(code, ErrorCode::kUsage);
  const ModelSource vig = made("test_vig", folder);
  EXPECT_NE(error_of([&] { evidence(vig, 10); }).find("0 to 9"), std::string::npos);
}

// The weights of a token are what the reference implementation makes of values that are 1 at one
// token and 0 at all others.
TEST(AttentionWeights, EqualTheScanOfUnitValues) {
  constexpr int64_t kTokens = 13, kKeys = 5;
  for (const float gate_scale : {1.0f, 60.0f}) {
    const auto qk = random_values(kTokens * 2 * kKeys, 1, 1.0f);
    const auto gates = random_values(kTokens * 2 * kKeys, 2, gate_scale);
    std::vector<float> alpha(gates.size());
    for (size_t i = 0; i < gates.size(); ++i) {
      alpha[i] = std::pow(1.0f / (1.0f + std::exp(-gates[i])), 1.0f / 16);
    }
    for (const auto& [forward, backward] : {std::pair(true, true), {true, false}, {false, true}}) {
      GlaTokens tokens;
      tokens.tokens = kTokens;
      tokens.key_dim = kKeys;
      tokens.q = qk.data();
      tokens.k = qk.data() + kKeys;
      tokens.stride = tokens.gate_stride = 2 * kKeys;
      if (forward) tokens.forward_gates = gates.data();
      if (backward) tokens.backward_gates = gates.data() + kKeys;
      for (int64_t j = 0; j < kTokens; ++j) {
        std::vector<float> v(kTokens), o(kTokens);
        v[static_cast<size_t>(j)] = 1.0f;
        GlaArgs args;
        args.tokens = kTokens;
        args.key_dim = kKeys;
        args.value_dim = 1;
        args.q = tokens.q;
        args.k = tokens.k;
        args.v = v.data();
        args.qkv_stride = 2 * kKeys;
        args.v_stride = 1;
        args.alpha_forward = forward ? alpha.data() : nullptr;
        args.alpha_backward = backward ? alpha.data() + kKeys : nullptr;
        args.alpha_stride = 2 * kKeys;
        args.scale = (forward && backward ? 0.5f : 1.0f) / std::sqrt(float{kKeys});
        args.o = o.data();
        args.o_stride = 1;
        reference::gla(args);
        for (int64_t i = 0; i < kTokens; ++i) {
          EXPECT_NEAR(gla_weights(tokens, i)[static_cast<size_t>(j)], o[static_cast<size_t>(i)],
                      1e-6)
              << i << " takes from " << j;
        }
      }
    }
  }
}

TEST(AttentionWeights, EqualTheSoftmaxOfUnitValues) {
  constexpr int64_t kTokens = 5, kDim = 4;
  const auto qk = random_values(kTokens * 2 * kDim, 3, 2.0f);
  std::vector<float> v(kTokens * 2 * kDim), o(kTokens * kDim);
  for (int64_t j = 0; j < kDim; ++j) v[static_cast<size_t>(j * 2 * kDim + j)] = 1.0f;
  AttentionArgs args;
  args.tokens = kTokens;
  args.head_dim = kDim;
  args.q = qk.data();
  args.k = qk.data() + kDim;
  args.v = v.data();  // token j gives 1 to channel j, and the last token nothing
  args.qkv_stride = 2 * kDim;
  args.scale = 0.5f;  // one by the root of the head's width
  args.o = o.data();
  args.o_stride = kDim;
  reference::attention(args);
  for (int64_t i = 0; i < kTokens; ++i) {
    const auto weights = softmax_weights({kTokens, kDim, args.q, args.k, args.qkv_stride}, i);
    ASSERT_EQ(weights.size(), static_cast<size_t>(kTokens));
    for (int64_t j = 0; j < kDim; ++j) {
      EXPECT_NEAR(weights[static_cast<size_t>(j)], o[static_cast<size_t>(i * kDim + j)], 1e-6)
          << i << " takes from " << j;
    }
    EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1.0, 1e-6);
  }
}

TEST(Attention, OfGatedAndOfSoftmaxLayers) {
  const TempDir folder;
  for (const char* model : {"test_vig", "test_vig_h", "test_deit"}) {
    const ModelSource source = made(model, folder);
    const std::vector<int> heads = attention_heads(*source.graph);
    ASSERT_FALSE(heads.empty());
    std::vector<double> sum;
    for (int head = 0; head < heads.back(); ++head) {
      const auto found = attention(source, {0.99, 0.5, -1, head});
      ASSERT_EQ(found.size(), 2u);
      const TokenMap& map = found[0].prediction.map;
      EXPECT_EQ(found[0].prediction.column, map.width - 1);
      EXPECT_EQ(map.values.size(),
                static_cast<size_t>(map.height) * static_cast<size_t>(map.width));
      sum.resize(map.values.size());
      for (size_t t = 0; t < sum.size(); ++t) sum[t] += map.values[t];
    }
    const auto whole = attention(source, {0.99, 0.5});
    EXPECT_EQ(whole[0].prediction.layer, static_cast<int>(heads.size()) - 1);
    for (size_t t = 0; t < sum.size(); ++t) {
      EXPECT_NEAR(whole[0].prediction.map.values[t], sum[t] / heads.back(), 1e-6) << model;
    }
    // Threads and batches change nothing.
    const auto again = attention(source, {0.99, 0.5}, {.threads = 3, .batch = 2});
    EXPECT_EQ(again[1].prediction.map.values, whole[1].prediction.map.values);
  }
}

// What one head of a layer computes with: the weights of one query and the rows of its values.
struct HeadValues {
  std::vector<float> weights;
  const float* v = nullptr;
  int64_t dim = 0, stride = 0;
};

HeadValues head_values(const Session& session, int image, const Node& mixing, int head,
                       int64_t query) {
  const auto& inputs = mixing.inputs;
  const Grid& grid = session.graph().node(inputs[0]).grid;
  const float* const qkv = session.value(inputs[0], image);
  if (const auto* softmax = std::get_if<AttentionOp>(&mixing.op)) {
    const int width = grid.channels / 3, dim = width / softmax->heads;
    const float* const q = qkv + head * dim;
    return {softmax_weights({grid.positions(), dim, q, q + width, grid.channels}, query),
            q + 2 * width, dim, grid.channels};
  }
  const GlaOp& op = std::get<GlaOp>(mixing.op);
  EXPECT_EQ(op.direction, GlaDirection::kBoth);
  EXPECT_NE(op.key_dim, op.value_dim);
  const int keys = op.heads * op.key_dim;
  GlaTokens tokens;
  tokens.tokens = grid.positions();
  tokens.key_dim = op.key_dim;
  tokens.q = qkv + head * op.key_dim;
  tokens.k = tokens.q + keys;
  tokens.stride = grid.channels;
  tokens.forward_gates = session.value(inputs[1], image) + head * op.key_dim;
  tokens.backward_gates = tokens.forward_gates + keys;
  tokens.gate_stride = session.graph().node(inputs[1]).grid.channels;
  return {gla_weights(tokens, query), qkv + 2 * keys + head * op.value_dim, op.value_dim,
          grid.channels};
}

// Weights times values, summed, are the layer's own output; weights times the lengths of the values
// are what is shown.
TEST(Attention, AddsUpToTheOutputOfTheLayer) {
  const TempDir folder;
  for (const char* model : {"test_vig", "test_vig_h", "test_deit"}) {
    SCOPED_TRACE(model);
    const ModelSource source = made(model, folder);
    const Graph& graph = *source.graph;
    const int layer = static_cast<int>(attention_heads(graph).size()) - 1;
    int node = -1;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Op& op = graph.nodes[i].op;
      if (std::holds_alternative<GlaOp>(op) || std::holds_alternative<AttentionOp>(op)) {
        node = static_cast<int>(i);
      }
    }
    std::vector<std::vector<ImageAttention>> shown;
    for (int head = 0; head < attention_heads(graph).back(); ++head) {
      shown.push_back(attention(source, {0.3, 0.6, layer, head}));
    }
    std::vector<int> keep = graph.node(node).inputs;
    keep.push_back(node);
    const Runner runner = Runner(source, {}).keeping(keep);
    Runner::Pass pass;
    pass.on_values = [&](size_t sample, const Session& session, int image) {
      const auto rows = static_cast<size_t>(graph.node(node).grid.positions());
      for (size_t head = 0; head < shown.size(); ++head) {
        const LayerAttention& attention = shown[head][sample].prediction;
        const TokenMap& map = attention.map;
        const size_t extra = rows - map.values.size();  // a class token stands before all others
        const auto query =
            static_cast<int64_t>(extra) + attention.row * map.width + attention.column;
        const HeadValues own =
            head_values(session, image, graph.node(node), static_cast<int>(head), query);
        const auto dim = static_cast<size_t>(own.dim);
        std::vector<double> sums(dim);
        for (size_t j = 0; j < rows; ++j) {
          const float* const v = own.v + static_cast<int64_t>(j) * own.stride;
          double squares = 0;
          for (size_t c = 0; c < dim; ++c) {
            sums[c] += static_cast<double>(own.weights[j]) * v[c];
            squares += static_cast<double>(v[c]) * v[c];
          }
          const double length = own.weights[j] * std::sqrt(squares);
          if (j < extra) continue;
          EXPECT_NEAR(map.values[j - extra], length, 1e-6 * std::abs(length)) << j;
        }
        const float* const o = session.value(node, image) +
                               static_cast<size_t>(query) * shown.size() * dim + head * dim;
        for (size_t c = 0; c < dim; ++c) {
          EXPECT_NEAR(o[c], sums[c], 1e-5 + 1e-4 * std::abs(sums[c])) << head << ", " << c;
        }
      }
    };
    EXPECT_TRUE(runner.run(two_images(), pass));
  }
}

// What a direction cannot see has no weight, and the layer takes half of both.
TEST(Attention, OfEachDirection) {
  using Direction = Explainer::Direction;
  const TempDir folder;
  for (const char* model : {"test_vig", "test_vig_h"}) {
    const ModelSource source = made(model, folder);
    const auto shown = [&](Direction direction) {
      return attention(source, {0.4, 0.6, 0, -1, direction})[0].prediction;
    };
    const LayerAttention forward = shown(Direction::kForward), both = shown(Direction::kBoth);
    const LayerAttention backward = shown(Direction::kBackward), all = shown(Direction::kAll);
    const size_t token = static_cast<size_t>(both.row) * static_cast<size_t>(both.map.width) +
                         static_cast<size_t>(both.column);
    ASSERT_TRUE(token > 0 && token + 1 < both.map.values.size());
    for (size_t t = 0; t < both.map.values.size(); ++t) {
      EXPECT_EQ(forward.map.values[t] == 0, t > token) << model << " " << t;
      EXPECT_EQ(backward.map.values[t] == 0, t < token) << model << " " << t;
      EXPECT_NEAR(both.map.values[t], (forward.map.values[t] + backward.map.values[t]) / 2, 1e-6);
    }
    EXPECT_TRUE(both.directions.empty());
    ASSERT_EQ(all.directions.size(), 2u);
    EXPECT_EQ(all.directions[0].values, forward.map.values);
    EXPECT_EQ(all.directions[1].values, backward.map.values);
    EXPECT_EQ(all.map.values, both.map.values);
  }
  const std::string complaint = error_of([&] {
    attention(made("test_deit", folder), {0.5, 0.5, 0, -1, Direction::kForward});
  });
  EXPECT_NE(complaint.find("two directions"), std::string::npos);
}

TEST(Attention, BadRequestsAreNamed) {
  const TempDir folder;
  const ModelSource vig = made("test_vig", folder);
  const auto complaint = [&](const ModelSource& source, Explainer::AttentionRequest request) {
    return error_of([&] { attention(source, request); });
  };
  EXPECT_NE(complaint(vig, {0.5, 0.5, 2}).find("0 to 1"), std::string::npos);
  EXPECT_NE(complaint(vig, {0.5, 0.5, 0, 2}).find("0 to 1"), std::string::npos);
  EXPECT_NE(complaint(vig, {0.5, 1.5}).find("0 to 1"), std::string::npos);
  EXPECT_NE(complaint(made("test_resnet", folder), {}).find("no layer"), std::string::npos);
}

// The middle of a wide image, and an image that is smaller than the input.
TEST(SeenPart, IsWhereTheInputLiesInTheImage) {
  const SeenPart middle = seen_part({200, 100, 128, 64, 32, 0, 64, 64});
  EXPECT_DOUBLE_EQ(middle.x, 50);
  EXPECT_DOUBLE_EQ(middle.y, 0);
  EXPECT_DOUBLE_EQ(middle.width, 100);
  EXPECT_DOUBLE_EQ(middle.height, 100);
  const SeenPart padded = seen_part({100, 50, 100, 25, 10, -20, 64, 64});
  EXPECT_DOUBLE_EQ(padded.x, 10);
  EXPECT_DOUBLE_EQ(padded.y, -40);
  EXPECT_DOUBLE_EQ(padded.width, 64);
  EXPECT_DOUBLE_EQ(padded.height, 128);
}

TEST(DrawMap, CoversWhatWasSeenAndDimsTheRest) {
  Image image(8, 4);
  image.rgb.assign(image.rgb.size(), 100);
  const TokenMap map{1, 2, {1.0f, -1.0f}};
  const Image drawn = draw_map(image, {0, 0, 4, 4}, map, 1.0);
  EXPECT_EQ(drawn.row(0)[0], 214) << "the strongest is covered wholly";
  EXPECT_EQ(drawn.row(3)[3 * 3], 31);
  EXPECT_EQ(drawn.row(0)[3 * 7], 35) << "not seen";
  EXPECT_EQ(draw_map(image, {0, 0, 8, 4}, map, 0.0), image);
  const TokenMap nothing{1, 1, {0.0f}};
  EXPECT_EQ(draw_map(image, {0, 0, 8, 4}, nothing, 1.0), image);
}

TEST(DrawMap, IsInterpolatedInBothDirections) {
  Image image(4, 4);
  image.rgb.assign(image.rgb.size(), 100);
  const Image down = draw_map(image, {0, 0, 4, 4}, {2, 1, {1.0f, -1.0f}}, 1.0);
  const Image across = draw_map(image, {0, 0, 4, 4}, {1, 2, {1.0f, -1.0f}}, 1.0);
  const int red[] = {214, 157, 66, 31};  // a half of either colour between the centres
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 4; ++x) {
      EXPECT_EQ(down.row(y)[3 * x], red[y]) << x << ", " << y;
      EXPECT_EQ(across.row(y)[3 * x], red[x]) << x << ", " << y;
    }
  }
}

}  // namespace
}  // namespace vig::test
