// Checks JSON against the part of JSON Schema that /openapi.json uses. A keyword that is not known
// here is an error, so that no schema is taken for checked that is not.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace vig::test {

// What is wrong with `value`, each with its path; empty: it fits. References (#/...) lead into
// `document`.
std::vector<std::string> schema_problems(const nlohmann::json& document,
                                         const nlohmann::json& schema, const nlohmann::json& value,
                                         const std::string& path = "$");

}  // namespace vig::test
