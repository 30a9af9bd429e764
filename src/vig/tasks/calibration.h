// Whether the probabilities of a classifier are as often right as they say.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace vig {

class Calibration {
 public:
  // One image: finite logits, one per class, and the class it shows. They are kept.
  void add(std::span<const float> logits, int label);

  size_t images() const { return labels_.size(); }

  // The expected calibration error: images are put into 15 bins of equal width by the probability
  // of the best class; the mean of |share of right ones - mean probability| over the bins, weighted
  // by their images. Of nothing: 0.
  double error(double temperature) const;
  // The mean cross-entropy, natural logarithm.
  double loss(double temperature) const;
  // From 0.05 to 20, the one with the smallest loss.
  double best_temperature() const;

  // Of the images whose best class reaches a probability.
  struct Kept {
    double share = 0;      // of all images
    double precision = 0;  // the share of right ones among them; 1 where there are none
  };
  Kept kept(double threshold, double temperature) const;

 private:
  struct Best {
    double probability = 0;
    bool right = false;
  };
  std::vector<Best> best_of(double temperature) const;
  std::span<const float> logits(size_t image) const {
    return std::span(logits_).subspan(image * classes_, classes_);
  }

  size_t classes_ = 0;
  std::vector<float> logits_;  // [images, classes]
  std::vector<int> labels_;
};

}  // namespace vig
