#include "vig/train/tasks/pixel_loss.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "vig/image/image.h"
#include "vig/torch/maybe_tensor.h"

namespace vig::train {
namespace {

// Positions of `out` between those of `in`: (1 - weight) * at[low] + weight * at[high].
struct Taps {
  std::vector<int64_t> low, high;
  std::vector<float> weight;
};

Taps bilinear_taps(int64_t in, int64_t out) {
  Taps taps;
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  for (int64_t i = 0; i < out; ++i) {
    const float at = std::max(0.0f, (static_cast<float>(i) + 0.5f) * scale - 0.5f);
    const auto low = std::min(static_cast<int64_t>(at), in - 1);
    taps.low.push_back(low);
    taps.high.push_back(std::min(low + 1, in - 1));
    taps.weight.push_back(at - static_cast<float>(low));
  }
  return taps;
}

// One image, [height, width, classes] of logits.
class ImageLoss {
 public:
  ImageLoss(const at::Tensor& logits, const at::Tensor& labels, const MaybeTensor& weights)
      : height_(logits.size(0)),
        width_(logits.size(1)),
        classes_(logits.size(2)),
        logits_(logits.data_ptr<float>()),
        labels_(labels.data_ptr<uint8_t>()),
        weights_(data_or_null(weights)),
        rows_(bilinear_taps(height_, labels.size(0))),
        columns_(bilinear_taps(width_, labels.size(1))),
        line_(at::empty({width_, classes_}, at::kFloat)),
        line_gradient_(at::empty({width_, classes_}, at::kFloat)),
        row_(at::empty({labels.size(1), classes_}, at::kFloat)) {}

  // The sum over the labelled pixels. Adds its gradient to `gradient`, of the logits' form.
  double run(float* gradient, PixelCounts& counts) {
    double sum = 0;
    for (size_t y = 0; y < rows_.low.size(); ++y) {
      const uint8_t* labels = labels_ + static_cast<int64_t>(y) * row_.size(0);
      if (std::all_of(labels, labels + row_.size(0), [](uint8_t l) { return l == kNoLabel; })) {
        continue;
      }
      resize_row(y);
      at::log_softmax_out(row_, row_, 1);
      sum -= take_row(labels, counts);
      scatter_row(y, gradient);
    }
    return sum;
  }

 private:
  void resize_row(size_t y) {
    const float weight = rows_.weight[y];
    const float* low = logits_ + rows_.low[y] * width_ * classes_;
    const float* high = logits_ + rows_.high[y] * width_ * classes_;
    float* line = line_.data_ptr<float>();
    for (int64_t i = 0; i < width_ * classes_; ++i) line[i] = low[i] + weight * (high[i] - low[i]);
    float* row = row_.data_ptr<float>();
    for (size_t x = 0; x < columns_.low.size(); ++x, row += classes_) {
      const float* left = line + columns_.low[x] * classes_;
      const float* right = line + columns_.high[x] * classes_;
      const float share = columns_.weight[x];
      for (int64_t c = 0; c < classes_; ++c) row[c] = left[c] + share * (right[c] - left[c]);
    }
  }

  float weight(uint8_t label) const { return weights_ == nullptr ? 1.0f : weights_[label]; }

  // Sums the log softmax of the labels, and makes the row the gradient of minus that sum.
  double take_row(const uint8_t* labels, PixelCounts& counts) {
    double sum = 0;
    float* row = row_.data_ptr<float>();
    for (int64_t x = 0; x < row_.size(0); ++x, row += classes_) {
      if (labels[x] == kNoLabel) continue;
      sum += weight(labels[x]) * row[labels[x]];
      ++counts.labelled;
      if (std::max_element(row, row + classes_) - row == labels[x]) ++counts.right;
    }
    row_.exp_();
    row = row_.data_ptr<float>();
    for (int64_t x = 0; x < row_.size(0); ++x, row += classes_) {
      if (labels[x] == kNoLabel) {
        std::fill_n(row, classes_, 0.0f);
      } else {
        row[labels[x]] -= 1.0f;
        if (weights_ == nullptr) continue;
        for (int64_t c = 0; c < classes_; ++c) row[c] *= weights_[labels[x]];
      }
    }
    return sum;
  }

  void scatter_row(size_t y, float* gradient) {
    line_gradient_.zero_();
    float* line = line_gradient_.data_ptr<float>();
    const float* row = row_.data_ptr<float>();
    for (size_t x = 0; x < columns_.low.size(); ++x, row += classes_) {
      float* left = line + columns_.low[x] * classes_;
      float* right = line + columns_.high[x] * classes_;
      const float share = columns_.weight[x];
      for (int64_t c = 0; c < classes_; ++c) {
        left[c] += (1.0f - share) * row[c];
        right[c] += share * row[c];
      }
    }
    const float weight = rows_.weight[y];
    float* low = gradient + rows_.low[y] * width_ * classes_;
    float* high = gradient + rows_.high[y] * width_ * classes_;
    for (int64_t i = 0; i < width_ * classes_; ++i) {
      low[i] += (1.0f - weight) * line[i];
      high[i] += weight * line[i];
    }
  }

  const int64_t height_, width_, classes_;
  const float* logits_;
  const uint8_t* labels_;
  const float* weights_;  // null: all are 1
  const Taps rows_, columns_;
  at::Tensor line_, line_gradient_, row_;
};

class PixelCrossEntropy : public torch::autograd::Function<PixelCrossEntropy> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& labels, const MaybeTensor& weights,
                            std::vector<PixelCounts>* counts) {
    const at::Tensor logits = input.contiguous();
    const at::Tensor gradient = at::zeros_like(logits);
    double sum = 0;
    for (int64_t i = 0; i < logits.size(0); ++i) {
      ImageLoss image(logits[i], labels[i], weights);
      sum += image.run(gradient[i].data_ptr<float>(), (*counts)[static_cast<size_t>(i)]);
    }
    const auto pixels = static_cast<double>(labels.numel());
    gradient.div_(pixels);
    context->save_for_backward({gradient});
    return at::full({}, sum / pixels, at::kFloat);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list upstream) {
    return {context->get_saved_variables()[0] * upstream[0], at::Tensor(), at::Tensor(),
            at::Tensor()};
  }
};

}  // namespace

PixelLoss pixel_cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                              const at::Tensor& weights) {
  PixelLoss result;
  result.images.resize(static_cast<size_t>(logits.size(0)));
  result.loss = logits.is_cpu() ? PixelCrossEntropy::apply(logits, labels.contiguous(),
                                                           maybe(weights), &result.images)
                                : plain_pixel_cross_entropy(logits, labels, weights);
  return result;
}

at::Tensor plain_pixel_cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                                     const at::Tensor& weights) {
  const at::Tensor resized = at::upsample_bilinear2d(logits.permute({0, 3, 1, 2}),
                                                     {labels.size(1), labels.size(2)}, false);
  const at::Tensor sum = at::nll_loss_nd(
      at::log_softmax(resized, 1), labels.to(resized.device(), at::kLong),
      weights.defined() ? weights.to(resized.device()) : weights, at::Reduction::Sum, kNoLabel);
  return sum / static_cast<double>(labels.numel());
}

}  // namespace vig::train
