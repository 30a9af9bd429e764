// Golden cases of whole networks of dense prediction: what their text says beside the tensors.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "vig/image/preprocess.h"
#include "vig/models/registry.h"

namespace vig {

// Whether the text describes such a network: it has a "backbone".
bool is_dense_description(const nlohmann::json& description);

// The same network in the words of other cases: {"config": {"family": .., every argument}}.
nlohmann::json plain_description(const nlohmann::json& description);

// Where each picture of the case lies in the network's input, [batch, 3, height, width]; throws
// where the text does not say it of all.
std::vector<Placement> described_pictures(const std::string& file,
                                          const nlohmann::json& description, const Shape& input);

// The windows that the text says, else the whole input at once.
void set_windows(const std::string& file, const nlohmann::json& description, const Shape& input,
                 Recipe& recipe);

}  // namespace vig
