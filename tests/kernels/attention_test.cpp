#include "vig/kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "kernels/attention_head.h"
#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/kernels/reference/attention.h"

namespace vig {
namespace {

using test::Head;
using test::Scratch;
using test::Sheet;

constexpr int64_t kTokens[] = {1, 2, 3, 17, 49, 197, 600};
constexpr int64_t kWidths[] = {1, 8, 16, 20, 32, 64, 80, 128};

struct Result {
  Sheet o, lse;
};

enum class Form { kTiled, kMaterialised };

Result run(Head& head, Form form = Form::kTiled) {
  Result result{head.output(), head.row_of_sums()};
  AttentionArgs args = head.args(result.o, result.lse);
  Scratch packed(attention_packed_floats(head.tokens, head.head_dim));
  Scratch scratch(form == Form::kTiled ? attention_scratch_floats(head.tokens, head.head_dim)
                                       : attention_materialised_scratch_floats(
                                             head.tokens, head.tokens, head.head_dim));
  args.packed = packed.data();
  args.scratch = scratch.data();
  attention_pack(args);
  form == Form::kTiled ? attention(args) : attention_materialised(args);
  EXPECT_TRUE(packed.end_untouched()) << head.name();
  EXPECT_TRUE(scratch.end_untouched()) << head.name();
  return result;
}

Result reference_of(Head& head) {
  Result result{head.output(), head.row_of_sums()};
  reference::attention(head.args(result.o, result.lse));
  return result;
}

// Results are means of values up to 1; logits of up to 10 are rounded to 5e-7 and less.
constexpr double kTolerance = 2e-6;

void expect_reference(Head& head, Form form = Form::kTiled, double tolerance = kTolerance) {
  const Result fast = run(head, form), slow = reference_of(head);
  ASSERT_TRUE(fast.o.gaps_untouched()) << head.name();
  ASSERT_TRUE(fast.lse.gaps_untouched()) << head.name();
  ASSERT_LE(test::distance(fast.o, slow.o), tolerance) << head.name();
  ASSERT_LE(test::distance(fast.lse, slow.lse),
            tolerance * std::max(1.0, test::largest_magnitude(slow.lse)))
      << head.name();
}

class AttentionOnTarget : public test::OnTarget {};

TEST_P(AttentionOnTarget, EqualsReferenceOnUglySizes) {
  for (const int64_t tokens : kTokens) {
    for (const int64_t width : kWidths) {
      Head head(tokens, width);
      expect_reference(head);
    }
  }
}

// Rows by index, padded tokens, bias and labels.
TEST_P(AttentionOnTarget, WindowsEqualReferenceOnUglySizes) {
  for (const int64_t tokens : kTokens) {
    for (const int64_t width : {8, 20, 32, 64}) {
      Head head = Head::window(tokens, width);
      expect_reference(head);
    }
  }
}

TEST_P(AttentionOnTarget, MaterialisedFormEqualsReference) {
  for (const int64_t tokens : kTokens) {
    for (const int64_t width : {20, 32, 64}) {
      Head head(tokens, width), window = Head::window(tokens, width);
      expect_reference(head, Form::kMaterialised);
      expect_reference(window, Form::kMaterialised);
    }
  }
}

// Logits that are sums without rounding: +-10000 in any order, so that whole blocks of keys have no
// part in the result, whichever block the largest is in.
TEST_P(AttentionOnTarget, EqualsReferenceForExtremeLogits) {
  for (const int64_t tokens : {2, 49, 600}) {
    for (const int pattern : {0, 1, 2, 3, 4}) {
      Head head(tokens, 20);
      head.scale = 1.0f;
      for (int64_t t = 0; t < tokens; ++t) {
        for (int64_t c = 0; c < 2 * head.head_dim; ++c) head.qkv.at(t, c) = 0.0f;
        head.q()[t * head.qkv.stride] = t % 3 == 0 ? 100.0f : t % 3 == 1 ? -100.0f : 0.0f;
        float& k = head.k()[t * head.qkv.stride];
        switch (pattern) {
          case 0:
            k = t % 2 == 0 ? 100.0f : -100.0f;
            break;
          case 1:
            k = 100.0f;
            break;  // all equal
          case 2:
            k = t == tokens - 1 ? 100.0f : 0.0f;
            break;  // one huge, the last
          case 3:
            k = t == 0 ? 100.0f : 0.0f;
            break;  // one huge, the first
          default:
            k = static_cast<float>(t) / 8.0f;
            break;  // ever larger
        }
      }
      expect_reference(head);
      expect_reference(head, Form::kMaterialised);
    }
  }
}

// exp(-100) is 4e-44: the mask is as good as none of the others' tokens.
TEST_P(AttentionOnTarget, LabelsPartTheTokens) {
  Head head = Head::window(49, 32, false);
  const Result before = run(head);
  for (int64_t t = 0; t < head.tokens; ++t) {
    if (head.labels[static_cast<size_t>(t)] == 0) continue;
    const int64_t row = head.rows[static_cast<size_t>(t)];
    for (int64_t c = 0; c < head.head_dim; ++c) head.v()[row * head.qkv.stride + c] += 1.0f;
  }
  const Result after = run(head);
  for (int64_t t = 0; t < head.tokens; ++t) {
    const int64_t row = head.rows[static_cast<size_t>(t)];
    const float shift = head.labels[static_cast<size_t>(t)] == 0 ? 0.0f : 1.0f;
    for (int64_t c = 0; c < head.head_dim; ++c) {
      ASSERT_NEAR(before.o.at(row, c) + shift, after.o.at(row, c), 2e-6);
    }
  }
}

TEST_P(AttentionOnTarget, AnySplitOfTheQueriesGivesTheSameBits) {
  for (Head head : {Head(197, 64), Head(230, 20), Head::window(49, 32)}) {
    const Result whole = run(head);
    for (const int64_t block : {int64_t{1}, int64_t{7}, attention_query_block(head.tokens)}) {
      Result parts{head.output(), head.row_of_sums()};
      AttentionArgs args = head.args(parts.o, parts.lse);
      Scratch packed(attention_packed_floats(head.tokens, head.head_dim));
      Scratch scratch(attention_scratch_floats(head.tokens, head.head_dim));
      args.packed = packed.data();
      args.scratch = scratch.data();
      attention_pack(args);
      for (int64_t first = 0; first < head.tokens; first += block) {
        args.first_query = first;
        args.last_query = std::min(first + block, head.tokens);
        attention(args);
      }
      ASSERT_TRUE(test::same_bits(whole.o, parts.o)) << head.name() << " in blocks of " << block;
      ASSERT_TRUE(test::same_bits(whole.lse, parts.lse)) << head.name();
      ASSERT_TRUE(parts.o.gaps_untouched());
    }
  }
}

// A window of a map is what its tokens copied out of it are.
TEST_P(AttentionOnTarget, RowsByIndexGiveTheBitsOfCopiedRows) {
  Head window = Head::window(49, 32);
  Head copied(49, 32);
  for (int64_t t = 0; t < window.tokens; ++t) {
    const bool padded = window.padded(t);
    for (int64_t c = 0; c < 3 * window.head_dim; ++c) {
      // The query of a padded token does not matter.
      copied.qkv.at(t, c) = !padded ? window.qkv.at(window.rows[static_cast<size_t>(t)], c)
                            : c < window.head_dim ? 0.0f
                                                  : window.pad.at(0, c - window.head_dim);
    }
  }
  const Result by_index = run(window);
  Result by_copy{copied.output(), copied.row_of_sums()};
  AttentionArgs args = copied.args(by_copy.o, by_copy.lse);
  args.bias = window.bias.data();
  args.bias_stride = window.bias.stride;
  args.labels = window.labels.data();
  Scratch packed(attention_packed_floats(49, 32)), scratch(attention_scratch_floats(49, 32));
  args.packed = packed.data();
  args.scratch = scratch.data();
  attention_pack(args);
  attention(args);
  for (int64_t t = 0; t < window.tokens; ++t) {
    if (window.padded(t)) continue;
    for (int64_t c = 0; c < window.head_dim; ++c) {
      ASSERT_EQ(by_index.o.at(window.rows[static_cast<size_t>(t)], c), by_copy.o.at(t, c));
    }
    ASSERT_EQ(by_index.lse.at(0, t), by_copy.lse.at(0, t));
  }
}

TEST_P(AttentionOnTarget, NanStaysInItsRowOrReachesAll) {
  Head query(300, 32), key(300, 32);
  query.q()[7 * query.qkv.stride + 3] = NAN;
  key.k()[250 * key.qkv.stride + 3] = NAN;
  const Result of_query = run(query), of_key = run(key);
  for (int64_t t = 0; t < 300; ++t) {
    for (int64_t c = 0; c < 32; ++c) {
      ASSERT_EQ(std::isnan(of_query.o.at(t, c)), t == 7) << t << ", " << c;
      ASSERT_TRUE(std::isnan(of_key.o.at(t, c))) << t << ", " << c;
    }
  }
}

VIG_ON_EVERY_TARGET(AttentionOnTarget);

TEST(AttentionScratch, GrowsWithTheTokensAndNotWithTheirSquare) {
  EXPECT_LE(attention_packed_floats(20000, 64), 2 * 20000 * 66u);
  EXPECT_LE(attention_scratch_floats(20000, 64), 40000u);
  EXPECT_GE(attention_materialised_scratch_floats(2000, 2000, 64), 2000 * 2000u);
}

}  // namespace
}  // namespace vig
