// Which requests may run in one batch.
#include "vig/serve/predict.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace vig {
namespace {

TEST(KeyOfARequest, EveryFieldCounts) {
  const std::vector<std::function<void(PredictRequest&)>> changes = {
      [](PredictRequest&) {},
      [](PredictRequest& one) { one.kind = PredictKind::kEmbed; },
      [](PredictRequest& one) { one.size = 1; },
      [](PredictRequest& one) { one.top = 1; },
      [](PredictRequest& one) { one.threshold = 1e-12; },
      [](PredictRequest& one) { one.score = 1e-12; },
      [](PredictRequest& one) { one.map = true; },
      [](PredictRequest& one) { one.draw = true; },
      [](PredictRequest& one) { one.labels = LabelText::kNone; },
      [](PredictRequest& one) { one.evidence.about = 1; },
      [](PredictRequest& one) { one.evidence.against = 1; },
      [](PredictRequest& one) { one.attention.x = 0.1; },
      [](PredictRequest& one) { one.attention.x = 0.1 + 1e-16; },
      [](PredictRequest& one) { one.attention.y = 0.1; },
      [](PredictRequest& one) { one.attention.layer = 1; },
      [](PredictRequest& one) { one.attention.head = 1; },
  };
  std::set<std::string> keys;
  for (size_t i = 0; i < changes.size(); ++i) {
    PredictRequest request;
    changes[i](request);
    EXPECT_TRUE(keys.insert(key_of(request)).second) << "change " << i;
  }
  EXPECT_EQ(key_of({}), key_of({}));
}

}  // namespace
}  // namespace vig
