// Golden cases of whole networks of dense prediction: what their text says beside the tensors.
#pragma once

#include <string>
#include <vector>

#include "vig/base/json.h"
#include "vig/graph/graph.h"
#include "vig/image/preprocess.h"
#include "vig/models/family.h"

namespace vig {

// Whether the text describes such a network: it has a "backbone".
bool is_dense_description(const Json& description);

// The same network in the words of other cases: {"config": {"family": .., every argument}}.
Json plain_description(const Json& description);

// Whether the text describes a backbone by itself, whose four maps are compared: it has an "op"
// that names the backbone and the task, and a "config" without a family.
bool is_backbone_description(const Json& description);
// The same in the words of other cases, of a network with this backbone.
Json plain_backbone(const std::string& file, const Json& description);
// The part of a network that makes its four maps, with the parameters of that part alone.
Graph backbone_graph(const Graph& network);

// Where each image of the case lies in the network's input, [batch, 3, height, width]; throws
// where the text does not say it of all.
std::vector<Placement> described_images(const std::string& file, const Json& description,
                                        const Shape& input);

// The windows that the text says, else the whole input at once.
void set_windows(const std::string& file, const Json& description, const Shape& input,
                 Recipe& recipe);

}  // namespace vig
