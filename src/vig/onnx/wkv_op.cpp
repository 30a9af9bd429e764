// Bidirectional WKV. Sums are carried as (upper, lower, exponent): upper e^exponent of the values
// and lower e^exponent of the weights, so that keys and decays of any size neither overflow nor
// vanish.
#include <cmath>

#include "vig/onnx/ops.h"
#include "vig/onnx/scan_body.h"

namespace vig::onnx_format {
namespace {

// An exponent below that of any key.
constexpr float kNothing = -1e30f;

struct Sum {
  std::string upper, lower, exponent;
};

class WkvWriter {
 public:
  explicit WkvWriter(OpWriter& to)
      : to_(to),
        nodes_(to.nodes()),
        tokens_(to.grid().positions()),
        channels_(to.grid().channels),
        decay_(to.param(0)),
        first_(to.param(1)) {
    // Of a token: w and u.
    for (float& value : decay_) value = static_cast<float>(value / static_cast<double>(tokens_));
    for (float& value : first_) value = static_cast<float>(value / static_cast<double>(tokens_));
  }

  void run(bool released) {
    k_ = nodes_.transpose(to_.rows(0), {1, 0, 2});  // [T, B, C]
    v_ = nodes_.transpose(to_.rows(1), {1, 0, 2});
    const Sum sides = scan();  // [T, B, 2, C]: tokens before, and tokens behind in reverse
    Sum before = side(sides, 0), behind = side(sides, 1), own;
    if (released) {
      take_chunk_begins(before);
      behind.exponent = nodes_.minus(behind.exponent, nodes_.floats({channels_}, decay_));
      own = inside_chunks();
    } else {
      own = {v_, nodes_.scalar(1.0f), nodes_.plus(k_, nodes_.floats({channels_}, first_))};
    }
    const std::string largest = nodes_.add("Max", {before.exponent, behind.exponent, own.exponent});
    std::string upper, lower;
    for (const Sum& sum : {before, behind, own}) {
      const std::string factor = nodes_.add("Exp", {nodes_.minus(sum.exponent, largest)});
      const std::string up = nodes_.mul(factor, sum.upper), low = nodes_.mul(factor, sum.lower);
      upper = upper.empty() ? up : nodes_.plus(upper, up);
      lower = lower.empty() ? low : nodes_.plus(lower, low);
    }
    to_.give(Form::kRows, nodes_.transpose(nodes_.add("Div", {upper, lower}), {1, 0, 2}));
  }

 private:
  std::string reversed(const std::string& x) {
    return nodes_.add("Slice", {x, nodes_.integers({-1}), nodes_.integers({INT64_MIN}),
                                nodes_.integers({0}), nodes_.integers({-1})});
  }
  std::string both_ways(const std::string& x) {
    return nodes_.concat({nodes_.unsqueeze(x, {2}), nodes_.unsqueeze(reversed(x), {2})}, 2);
  }

  // Of every token, the sum over those before it: token i with weight e^{k_i - (t - i - 1) w}.
  Sum scan() {
    const Axes sizes = {2, channels_};
    const std::string keys = both_ways(k_), values = both_ways(v_);
    const std::string first =
        nodes_.add("Squeeze", {nodes_.slice(keys, 0, 0, 1), nodes_.integers({0})});
    const std::string none = nodes_.mul(first, nodes_.scalar(0.0f));
    ScanBody body(nodes_, "wkv");
    NodeWriter& inside = body.nodes();
    const Sum sum = {body.state(none, sizes), body.state(none, sizes),
                     body.state(nodes_.plus(none, nodes_.scalar(kNothing)), sizes)};
    const std::string k = body.sequence(keys, sizes), v = body.sequence(values, sizes);
    const std::string faded = inside.minus(sum.exponent, nodes_.floats({channels_}, decay_));
    const std::string largest = inside.add("Max", {faded, k});
    const std::string old = inside.add("Exp", {inside.minus(faded, largest)});
    const std::string added = inside.add("Exp", {inside.minus(k, largest)});
    body.next_state(inside.plus(inside.mul(old, sum.upper), inside.mul(added, v)), sizes);
    body.next_state(inside.plus(inside.mul(old, sum.lower), added), sizes);
    body.next_state(largest, sizes);
    for (const std::string& part : {sum.upper, sum.lower, sum.exponent}) body.result(part, sizes);
    const Names results = body.write();
    return {results[3], results[4], results[5]};
  }

  // [T, B, C] in the order of tokens.
  Sum side(const Sum& both, int64_t which) {
    const auto part = [&](const std::string& x) {
      const std::string own =
          nodes_.add("Squeeze", {nodes_.slice(x, 2, which, which + 1), nodes_.integers({2})});
      return which == 0 ? own : reversed(own);
    };
    return {part(both.upper), part(both.lower), part(both.exponent)};
  }

  // ---- the published kernel: sums over chunks of ceil(T / 32) tokens ----

  int64_t chunk() const { return (tokens_ + 31) / 32; }

  // Tokens before the chunk alone, with another decay.
  void take_chunk_begins(Sum& before) {
    Axes begins;
    std::vector<float> fading;
    for (int64_t t = 0; t < tokens_; ++t) {
      begins.push_back(t / chunk() * chunk());
      for (const float w : decay_) {
        fading.push_back(-static_cast<float>(t - begins.back() + 1) * w);
      }
    }
    for (std::string* part : {&before.upper, &before.lower, &before.exponent}) {
      *part = nodes_.gather(*part, 0, begins);
    }
    before.exponent = nodes_.plus(before.exponent, nodes_.floats({tokens_, 1, channels_}, fading));
  }

  // [C, s, s]: the weight of token i for token t of the same chunk.
  std::vector<float> chunk_weights() const {
    std::vector<float> weights;
    const int64_t s = chunk();
    for (size_t c = 0; c < decay_.size(); ++c) {
      const double w = decay_[c], u = first_[c];
      for (int64_t t = 0; t < s; ++t) {
        for (int64_t i = 0; i < s; ++i) {
          const auto apart = static_cast<double>(t - i);
          double weight = i == t ? std::exp(u) : i < t ? std::exp(-(apart - 1.0) * w) : 0.0;
          if (0 < i && i <= t) weight += std::exp(apart * w) * -std::expm1(w);
          weights.push_back(static_cast<float>(weight));
        }
      }
    }
    return weights;
  }

  // [n s, B, C] to [n, B, C, s, 1]
  std::string by_chunks(const std::string& x) {
    const int64_t s = chunk(), n = (tokens_ + s - 1) / s;
    const std::string split =
        nodes_.reshape(nodes_.pad(x, {0, 0, 0}, {n * s - tokens_, 0, 0}), {n, s, -1, channels_});
    return nodes_.unsqueeze(nodes_.transpose(split, {0, 2, 3, 1}), {-1});
  }

  Sum inside_chunks() {
    const int64_t s = chunk(), n = (tokens_ + s - 1) / s;
    const std::string keys = by_chunks(k_), values = by_chunks(v_);
    const std::string largest =
        nodes_.add("ReduceMax", {keys}, {{"axes", Axes{3}}, {"keepdims", int64_t{1}}});
    const std::string lower = nodes_.add("Exp", {nodes_.minus(keys, largest)});
    const std::string both = nodes_.concat({nodes_.mul(lower, values), lower}, -1);
    const std::string sums =
        nodes_.product(nodes_.floats({channels_, s, s}, chunk_weights()), both);
    const Names parts = nodes_.split(sums, -1, {1, 1});
    const auto by_tokens = [&](const std::string& x) {
      const std::string line = nodes_.reshape(x, {n, -1, channels_, s});
      const std::string all =
          nodes_.reshape(nodes_.transpose(line, {0, 3, 1, 2}), {n * s, -1, channels_});
      return n * s > tokens_ ? nodes_.slice(all, 0, 0, tokens_) : all;
    };
    const std::string zeros =
        nodes_.floats({s, 1}, std::vector<float>(static_cast<size_t>(s), 0.0f));
    return {by_tokens(parts[0]), by_tokens(parts[1]), by_tokens(nodes_.plus(largest, zeros))};
  }

  OpWriter& to_;
  NodeWriter& nodes_;
  int64_t tokens_, channels_;
  std::vector<float> decay_, first_;  // of a token: w and u
  std::string k_, v_;
};

}  // namespace

void write(const BiWkvOp& op, OpWriter& to) {
  to.fix_size();
  WkvWriter(to).run(op.released);
}

}  // namespace vig::onnx_format
