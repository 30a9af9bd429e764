// The options of a request, checked against the network.
#pragma once

#include <map>
#include <string>

#include "vig/pipeline/open_model.h"
#include "vig/serve/predict.h"

namespace vig {

using GivenOptions = std::map<std::string, std::string>;

// Options of both; throws HttpError where one is given twice.
GivenOptions merged_options(GivenOptions query, const GivenOptions& body);

// The option's text, and `given` without it; empty where it is not given.
std::string take_option(GivenOptions& given, const std::string& name);

// Throws HttpError for options that the task does not have, and for values out of range. `max_size`
// is the largest side of an input that may be asked for.
PredictRequest read_predict_request(PredictKind kind, GivenOptions given, const OpenModel& model,
                                    int max_size);

}  // namespace vig
