// Responses to GET: the page and the list of models.
#pragma once

#include <span>
#include <string>

#include "vig/serve/api.h"

namespace vig {

// "classify", "segment" or "detect".
const char* task_name(ModelTask task);

// JSON. `max_size` is the largest side of an input that clients may ask for.
std::string model_list(std::span<const HostedModel> models, int max_size);

// A browser runs only those scripts and styles of the page that bear the number of this response,
// and asks no other address.
HttpResponse page_response();

}  // namespace vig
