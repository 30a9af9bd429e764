// How the probabilities of a classifier are to be read: plain values stored with the weights.
#pragma once

namespace vig {

struct Confidence {
  double temperature = 1;  // logits are divided by it before the softmax
  double threshold = 0;    // a best class that is less probable is "none of them"; 0: none is

  bool operator==(const Confidence&) const = default;
};

}  // namespace vig
