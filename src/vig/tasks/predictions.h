// The predictions for single images: as a table, and the most confident mistakes as a page.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/tasks/classification.h"

namespace vig {

struct Prediction {
  std::string file;
  std::optional<int> label;  // the class it shows, where that is known
  Classification result;     // the best classes; empty where there is an error
  std::string error;         // why there is no result

  bool is_mistake() const {
    return label && !result.scores.empty() && result.scores.front().index != *label;
  }
};

// A line for each image: its file, its label and whether the prediction is right (where
// `labelled`), with a threshold the class that reaches it or "none of them", then index, class and
// probability of the `top` best classes, best first, then the error. `names` is empty (indices are
// shown instead) or has one name per class.
struct PredictionsTable {
  int top = 5;
  bool labelled = false;
  bool header = true;
  double threshold = 0;
};
std::string predictions_csv(std::span<const Prediction> predictions,
                            std::span<const std::string> names, const PredictionsTable& table);

// Where the `most` mistakes with the largest probability of the wrong class are in `predictions`,
// the most confident first; of equal ones the earlier one first.
std::vector<size_t> surest_mistakes(std::span<const Prediction> predictions, size_t most);

// One mistake and its image.
struct ShownMistake {
  Prediction prediction;
  std::vector<uint8_t> jpeg;  // a small image; empty where it could not be read again
};

// One HTML page that needs nothing else: no script, no font, no address. `summary` stands below the
// title.
std::string mistakes_html(std::string_view title, std::string_view summary,
                          std::span<const ShownMistake> mistakes,
                          std::span<const std::string> names);

}  // namespace vig
