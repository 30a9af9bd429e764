// Suggestions for mistyped words.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vig {

// Letters to insert, delete, replace or exchange with their neighbour to turn one word into the
// other (the optimal string alignment distance).
size_t edit_distance(std::string_view a, std::string_view b);

// " (did you mean 'classify'?)" with the nearest of `known`, the first of several; empty when none
// is near: more than a third of the letters would differ.
std::string suggestion(std::string_view word, std::span<const std::string> known);

}  // namespace vig
