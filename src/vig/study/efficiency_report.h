// The report of the study `efficiency`.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "vig/study/study.h"

namespace vig::study {

inline constexpr std::array kEfficiencySizes = {224, 384, 512, 768, 1024, 1536, 2048};

// A curve of the figure.
struct Contender {
  std::string key;   // first part of the rows' keys
  std::string name;  // for people
  std::string model;
  std::vector<std::string> fields = {};
  bool onnxruntime = false;  // the other engine runs it
};
const std::vector<Contender>& contenders();
std::string efficiency_key(const Contender& contender, int size);  // "vig_t/224"
// Those whose time is compared with ViG-T's in turns, at every size but 224, where the study
// `throughput` does: "pairs/deit_t/1024".
std::vector<Contender> compared_contenders();
std::string efficiency_pair_key(const Contender& contender, int size);

// The sizes of the rows with the largest batch that fits: "largest/vim_t:512".
inline constexpr std::array kLargestBatchSizes = {224, 512, 1024};
std::string largest_batch_key(const Contender& contender, int size);

std::string efficiency_summary(const Row& row);
Presentation present_efficiency(const Results& results);

}  // namespace vig::study
