#include "vig/study/seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "vig/study/claims.h"

namespace vig::study {
namespace {

constexpr int kMostSeeds = 99;

using Values = std::vector<double>;

std::pair<Values, Values> common_seeds(const Results& results, const SeedKey& before,
                                       const SeedKey& after, const std::string& column) {
  std::pair<Values, Values> both;
  for (int seed = 1; seed <= kMostSeeds; ++seed) {
    const auto a = results.number(before(seed), column), b = results.number(after(seed), column);
    if (!a || !b) continue;
    both.first.push_back(*a);
    both.second.push_back(*b);
  }
  return both;
}

}  // namespace

SeedKey seed_key(std::string_view model, std::string rest) {
  if (!rest.empty()) rest.insert(0, "/");
  return [model = std::string(model), rest](int seed) {
    return fmt::format("{}/seed{}{}", model, seed, rest);
  };
}

int seed_count(const StudyOptions& options, int usual) {
  return options.seeds > 0 ? options.seeds : usual;
}

Values seed_values(const Results& results, const SeedKey& key, const std::string& column) {
  return common_seeds(results, key, key, column).first;
}

std::string seeds_text(const Values& values) {
  if (values.empty()) return "";
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  if (values.size() == 1) return fmt::format("{:.1f} (1 seed)", 100 * mean);
  const auto [least, most] = std::ranges::minmax(values);
  return fmt::format("{:.1f} ({:.1f} to {:.1f}, {} seeds)", 100 * mean, 100 * least, 100 * most,
                     values.size());
}

std::optional<Interval> seed_difference(const Results& results, const SeedKey& before,
                                        const SeedKey& after, const std::string& column) {
  const auto [a, b] = common_seeds(results, before, after, column);
  return paired_difference(a, b);
}

Claim seed_claim(std::string text, std::string paper, const Results& results, const SeedKey& before,
                 const SeedKey& after, const std::string& column, bool greater) {
  Claim claim{std::move(text), std::move(paper), ""};
  const auto [a, b] = common_seeds(results, before, after, column);
  if (a.empty()) return claim;
  if (a.size() == 1) {
    claim.here = fmt::format("{:+.1f}", 100 * (b[0] - a[0]));
    claim.remark = "one seed has no interval";
    return claim;
  }
  const auto difference = paired_difference(a, b);
  claim.here = points_text(difference);
  claim.verdict = has_sign(difference, greater);
  claim.remark = fmt::format("{} paired seeds", a.size());
  if (claim.verdict == Verdict::kUndecided) {
    claim.remark = fmt::format("the 95 % interval of {} paired seeds includes both", a.size());
  }
  return claim;
}

}  // namespace vig::study
