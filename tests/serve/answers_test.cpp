// Which requests may be answered together.
#include "vig/serve/answers.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace vig {
namespace {

TEST(KeyOfARequest, EveryFieldCounts) {
  const std::vector<std::function<void(AnswerRequest&)>> changes = {
      [](AnswerRequest&) {},
      [](AnswerRequest& one) { one.kind = AnswerKind::kEmbed; },
      [](AnswerRequest& one) { one.size = 1; },
      [](AnswerRequest& one) { one.top = 1; },
      [](AnswerRequest& one) { one.threshold = 1e-12; },
      [](AnswerRequest& one) { one.score = 1e-12; },
      [](AnswerRequest& one) { one.map = true; },
      [](AnswerRequest& one) { one.draw = true; },
      [](AnswerRequest& one) { one.labels = LabelText::kNone; },
      [](AnswerRequest& one) { one.evidence.about = 1; },
      [](AnswerRequest& one) { one.evidence.against = 1; },
      [](AnswerRequest& one) { one.attention.x = 0.1; },
      [](AnswerRequest& one) { one.attention.x = 0.1 + 1e-16; },
      [](AnswerRequest& one) { one.attention.y = 0.1; },
      [](AnswerRequest& one) { one.attention.layer = 1; },
      [](AnswerRequest& one) { one.attention.head = 1; },
  };
  std::set<std::string> keys;
  for (size_t i = 0; i < changes.size(); ++i) {
    AnswerRequest request;
    changes[i](request);
    EXPECT_TRUE(keys.insert(key_of(request)).second) << "change " << i;
  }
  EXPECT_EQ(key_of({}), key_of({}));
}

}  // namespace
}  // namespace vig
