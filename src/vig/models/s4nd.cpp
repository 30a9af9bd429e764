// S4ND-ViT: Modeling Images and Videos as Multidimensional Signals Using State Spaces.
//
// d embedding width, p patch size, T tokens row by row, c copies, N states. Blocks come in pairs:
//   x += glu(output_linear(gelu(s4(norm(x)))));  x += mlp(norm(x))
//   glu(a | b) = a * sigmoid(b);  head(mean(norm(x)))
// The released ViT convolves along one axis, the sequence of all tokens, although its name and its
// unused second kernel suggest two. Parameter names are those of the released code.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

#include "vig/base/error.h"
#include "vig/graph/init.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"
#include "vig/models/scan_blocks.h"

namespace vig {
namespace {

constexpr Init kInit = truncated_normal_init(0.02f);
constexpr int kMostTaps = 4096;

struct S4ndConfig : ConfigOf<S4ndConfig> {
  int patch_size = 16;
  int embed_dim = 768;
  int depth = 12;  // pairs of blocks
  int mlp_ratio = 4;
  int d_state = 64;
  int copies = 2;
  int n_ssm = 1;    // state spaces, which channels take in turn
  int l_max = 196;  // taps in each direction; tokens farther apart do not meet
  float norm_eps = 1e-5f;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("patch_size", patch_size);
    visitor.visit("embed_dim", embed_dim);
    visitor.visit("depth", depth);
    visitor.visit("mlp_ratio", mlp_ratio);
    visitor.visit("d_state", d_state);
    visitor.visit("copies", copies);
    visitor.visit("n_ssm", n_ssm);
    visitor.visit("l_max", l_max);
    visitor.visit("norm_eps", norm_eps);
  }
  int64_t blocks() const override { return 2 * int64_t{depth}; }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    return classes_shown_by(shapes, "head.weight");
  }
};

// ---- initial values -------------------------------------------------------------------------

// HiPPO-LegS in the basis in which its normal part is diagonal: with M[i, j] =
// -sqrt((2 i + 1) (2 j + 1)) below the diagonal, -(i + 1) on it, and p_i = sqrt(i + 1/2), the
// matrix M + p p^T is -1/2 I plus a skew one. Of each pair of its eigenvalues -1/2 -+ i omega this
// keeps the one with the negative imaginary part, the largest omega first.
class Hippo {
 public:
  using Number = std::complex<double>;

  explicit Hippo(size_t states) : n_(states), skew_(n_ * n_), square_(n_ * n_), basis_(n_ * n_) {
    for (size_t i = 0; i < n_; ++i) {
      basis_[i * n_ + i] = 1.0;
      for (size_t j = 0; j < i; ++j) {
        const double half = 0.5 * std::sqrt((2.0 * static_cast<double>(i) + 1.0) *
                                            (2.0 * static_cast<double>(j) + 1.0));
        skew_[i * n_ + j] = -half;
        skew_[j * n_ + i] = half;
      }
    }
    // skew^T skew is symmetric with the eigenvalues omega^2, each twice.
    for (size_t i = 0; i < n_; ++i) {
      for (size_t j = 0; j < n_; ++j) {
        for (size_t k = 0; k < n_; ++k) {
          square_[i * n_ + j] += skew_[k * n_ + i] * skew_[k * n_ + j];
        }
      }
    }
    diagonalise();
    std::vector<size_t> order(n_);
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return square_[a * n_ + a] > square_[b * n_ + b]; });
    for (size_t k = 0; k < n_; k += 2) chosen_.push_back(order[k]);
  }

  double omega(size_t k) const {
    const size_t at = chosen_[k] * n_ + chosen_[k];
    return std::sqrt(std::max(square_[at], 0.0));
  }
  // V^H v: with a unit vector a of the plane of omega and b = skew a / omega, the eigenvector of
  // -i omega is (a + i b) / sqrt(2).
  Number coordinate(size_t k, double (*v)(size_t)) const {
    double along_a = 0.0, along_b = 0.0;
    for (size_t i = 0; i < n_; ++i) {
      double b = 0.0;
      for (size_t j = 0; j < n_; ++j) b += skew_[i * n_ + j] * basis_[j * n_ + chosen_[k]];
      along_a += basis_[i * n_ + chosen_[k]] * v(i);
      along_b += b / omega(k) * v(i);
    }
    return Number(along_a, -along_b) / std::sqrt(2.0);
  }

 private:
  // Jacobi's rotations, of square_ to its eigenvalues and of basis_ to its eigenvectors.
  void diagonalise() {
    constexpr int kSweeps = 20;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (size_t p = 0; p < n_; ++p) {
        for (size_t q = p + 1; q < n_; ++q) rotate(p, q);
      }
    }
  }
  void rotate(size_t p, size_t q) {
    const double off = square_[p * n_ + q];
    const double apart = square_[q * n_ + q] - square_[p * n_ + p];
    if (std::abs(off) <= 1e-18 * (square_[p * n_ + p] + square_[q * n_ + q])) return;
    const double theta = apart / (2.0 * off);
    const double t = std::copysign(1.0, theta) / (std::abs(theta) + std::sqrt(theta * theta + 1.0));
    const double c = 1.0 / std::sqrt(t * t + 1.0), s = t * c;
    const auto turn = [&](double& x, double& y) {
      const double before = x;
      x = c * before - s * y;
      y = s * before + c * y;
    };
    for (size_t i = 0; i < n_; ++i) turn(square_[i * n_ + p], square_[i * n_ + q]);
    for (size_t i = 0; i < n_; ++i) turn(square_[p * n_ + i], square_[q * n_ + i]);
    for (size_t i = 0; i < n_; ++i) turn(basis_[i * n_ + p], basis_[i * n_ + q]);
  }

  size_t n_;
  std::vector<double> skew_, square_, basis_;
  std::vector<size_t> chosen_;  // a column of basis_ for each pair of eigenvalues
};

// That of so many pairs of states; made once for the layers of a model.
const Hippo& hippo(size_t pairs) {
  thread_local std::map<size_t, Hippo> made;
  return made.try_emplace(pairs, 2 * pairs).first->second;
}

void fill_a_imag(const FreshParam& param, float, float) {
  const auto pairs = static_cast<size_t>(param.shape[-1]);
  for (size_t i = 0; i < param.values.size(); ++i) {
    param.values[i] = static_cast<float>(hippo(pairs).omega(i % pairs));
  }
}

// A vector of HiPPO's, [1, systems, pairs, 2], its imaginary parts cut at +- `bound`.
template <double (*kVector)(size_t)>
void fill_vector(const FreshParam& param, float bound, float) {
  const auto pairs = static_cast<size_t>(param.shape[-2]);
  for (size_t i = 0; i < param.values.size() / 2; ++i) {
    const Hippo::Number value = hippo(pairs).coordinate(i % pairs, kVector);
    param.values[2 * i] = static_cast<float>(value.real());
    param.values[2 * i + 1] = static_cast<float>(
        std::clamp(value.imag(), -static_cast<double>(bound), static_cast<double>(bound)));
  }
}
double hippo_b(size_t i) { return std::sqrt(2.0 * static_cast<double>(i) + 1.0); }
double hippo_p(size_t i) { return std::sqrt(static_cast<double>(i) + 0.5); }

// ---- the network ----------------------------------------------------------------------------

Value s4_block(Builder& b, Value x, const std::string& name, const S4ndConfig& config) {
  const int d = config.embed_dim;
  Builder::S4Params params;
  params.d = name + ".layer.D";
  params.kernel = name + ".layer.kernel.0";
  params.states = config.d_state;
  params.systems = config.n_ssm;
  params.inv_dt = log_step_init(0.001f, 0.1f);
  params.a_real = constant_init(std::log(0.5f));
  params.a_imag = {fill_a_imag};
  params.b = {fill_vector<hippo_b>, 2.0f};
  params.p = {fill_vector<hippo_p>, 1e30f};
  check_width(name, "copies", config.copies, d);
  Value y = b.s4_conv(x, params, {config.copies, config.l_max});
  y = b.activation(y, Elementwise::kGelu);
  y = b.linear(y, name + ".layer.output_linear.0", 2 * d, true, kInit);
  const Value gate = b.activation(b.select_channels(y, d, d), Elementwise::kSigmoid);
  return b.mul(b.select_channels(y, 0, d), gate);
}

Value mlp_block(Builder& b, Value x, const std::string& name, const S4ndConfig& config) {
  const int hidden = widened(name, "mlp_ratio", config.mlp_ratio, config.embed_dim);
  x = b.linear(x, name + ".layer.ff.0.0", hidden, true, kInit);
  x = b.activation(x, Elementwise::kGelu);
  return b.linear(x, name + ".layer.ff.2", config.embed_dim, true, kInit);
}

Graph S4ndConfig::build(int height, int width) const {
  if (d_state % 2 != 0 || l_max > kMostTaps) {
    fail_usage("[s4nd] d_state={} and l_max={}, expected an even number and at most {}", d_state,
               l_max, kMostTaps);
  }
  Builder b;
  Value x = b.input("image", {height, width, 3});
  x = b.conv(x, "patch_embed.proj", embed_dim, {.kernel = patch_size, .stride = patch_size});
  b.named(x, "patch_embed");
  for (int i = 0; i < 2 * depth; ++i) {
    const std::string name = fmt::format("blocks.{}", i);
    b.next_level();
    Value y = b.named(b.layer_norm(x, name + ".norm.norm", norm_eps), name + ".norm");
    y = i % 2 == 0 ? s4_block(b, y, name, *this) : mlp_block(b, y, name, *this);
    b.named(y, name + ".layer");
    x = b.named(b.residual(x, y, drop_rate(drop_path, i / 2, depth)), name);
  }
  b.next_level();
  x = b.named(b.layer_norm(x, "norm.norm", norm_eps), "norm");
  classifier_outputs(b, x, "head", classes, kInit);
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

S4ndConfig base() {
  S4ndConfig config;
  config.drop_path = 0.1f;
  return config;
}

S4ndConfig miniature() {
  S4ndConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.embed_dim = 32;
  config.depth = 1;
  config.d_state = 8;
  config.l_max = 16;
  return config;
}

}  // namespace

Family s4nd_family() {
  Recipe recipe;
  recipe.resize = 248;
  return {.name = "s4nd",
          .base = "s4nd_b",
          .models =
              {
                  {"s4nd_b", base(), recipe, "base", "89M"},
                  {"test_s4nd", miniature(), recipe.with_size(64), "miniature for tests"},
              },
          // The released configuration stores a second kernel for every block and never reads it.
          .buffers = {".kernel.1.inv_dt", ".kernel.1.A_real", ".kernel.1.A_imag", ".kernel.1.B",
                      ".kernel.1.P", ".kernel.1.C", ".kernel.1.l_kernel"},
          .argument_fields = {{"expand", "mlp_ratio"}, {"channels", "copies"}},
          .fixed_arguments = {{"bidirectional", "true"},
                              {"rank", "1"},
                              {"kernels_stored", ""},
                              {"use_cls_token", "false"},
                              {"use_pos_embed", "false"}},
          .inner_activations = {".kernel.0", ".activation"}};
}

}  // namespace vig
