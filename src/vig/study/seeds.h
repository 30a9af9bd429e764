// Networks that are trained with the same seeds, compared seed by seed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vig/study/study.h"

namespace vig::study {

using SeedKey = std::function<std::string(int seed)>;  // of a network's row: "vig_t/seed2"

// "vig_t/seed2", with "/64" behind it where `rest` is "64".
SeedKey seed_key(std::string_view model, std::string rest = "");
// The seeds to train with: those of the options, or the study's own number of them.
int seed_count(const StudyOptions& options, int usual);

// The values of `column`, by seed, as far as they are stored.
std::vector<double> seed_values(const Results& results, const SeedKey& key,
                                const std::string& column);
// "56.0 (55.0 to 57.0, 3 seeds)", of shares; empty without one.
std::string seeds_text(const std::vector<double>& values);
// after - before, of the seeds that both have; nullopt for fewer than two.
std::optional<Interval> seed_difference(const Results& results, const SeedKey& before,
                                        const SeedKey& after, const std::string& column);

// The claim that the second network's `column` is greater (or less) than the first's.
Claim seed_claim(std::string text, std::string paper, const Results& results, const SeedKey& before,
                 const SeedKey& after, const std::string& column, bool greater);

}  // namespace vig::study
