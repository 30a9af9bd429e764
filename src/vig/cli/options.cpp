#include "vig/cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "vig/base/error.h"

namespace vig::cli {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

// 0 when it is no number from 1 to `most`.
int parse_number(std::string_view text, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool good = error == std::errc() && end == text.data() + text.size();
  return good && number >= 1 && number <= most ? number : 0;
}

}  // namespace

void add_threads(Command& command, int& threads) {
  command
      .option("--threads", threads,
              "Number of threads (default: the processors that affinity and CPU quotas allow)")
      .range(1, 1024)
      .value("N");
}

void add_max_pixels(Command& command, int64_t& pixels) {
  command.option("--max-pixels", pixels, "Reject images with more pixels than this")
      .range(int64_t{1}, std::numeric_limits<int64_t>::max())
      .show_default()
      .value("N");
}

void add_json(Command& command, bool& json) {
  command.flag("--json", json, "Print JSON instead of text");
}

ModelRequest ModelOptions::request() const {
  ModelRequest request;
  request.model = model;
  request.arch = arch;
  request.fields = parse_fields(fields);
  return request;
}

void add_model_changes(Command& command, ModelOptions& options) {
  command
      .option("--arch", options.arch,
              "Model name, for a weight file that does not contain it (see vig models)")
      .value("NAME");
  command
      .option("--set", options.fields,
              "Override a field of the model, such as classes=10; may be repeated")
      .value("FIELD=VALUE")
      .one_each();
}

Precision PrecisionOptions::precision() const { return {arithmetic_from_name(name), float_layers}; }

void add_float_layers(Command& command, std::vector<std::string>& layers) {
  command
      .option("--float-layers", layers,
              "With int8, further layers that stay float32: names from vig info --precision int8, "
              "with * for any characters; may be repeated")
      .value("PATTERN")
      .needs("--precision")
      .one_each();
}

void add_precision(Command& command, PrecisionOptions& options) {
  command
      .option(
          "--precision", options.name,
          "Precision of the dense layers: float32, or int8, which is faster and nearly as accurate")
      .one_of({"float32", "int8"})
      .show_default()
      .value("TYPE");
  add_float_layers(command, options.float_layers);
}

std::map<std::string, std::string> parse_fields(const std::vector<std::string>& settings) {
  std::map<std::string, std::string> fields;
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      fail_usage("--set {}: expected FIELD=VALUE", setting);
    }
    fields[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return fields;
}

uint64_t parse_bytes(const std::string& option, const std::string& text) {
  constexpr std::array<std::pair<std::string_view, double>, 10> kUnits = {
      {{"", 1},
       {"B", 1},
       {"KB", 1e3},
       {"MB", 1e6},
       {"GB", 1e9},
       {"TB", 1e12},
       {"KiB", 1024},
       {"MiB", 1024.0 * 1024},
       {"GiB", 1024.0 * 1024 * 1024},
       {"TiB", 1024.0 * 1024 * 1024 * 1024}}};
  constexpr double kMost = 1e15;
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  const auto unit = std::ranges::find(kUnits, rest, [](const auto& one) { return one.first; });
  if (error != std::errc() || unit == kUnits.end() || !(number * unit->second >= 1) ||
      number * unit->second > kMost) {
    fail_usage("{} {}: expected a size such as 500MB or 1.5GB", option, text);
  }
  return static_cast<uint64_t>(number * unit->second);
}

InputSize parse_size(const std::string& text) {
  const auto parts = split(text, 'x');
  InputSize size;
  if (parts.size() <= 2) {
    size.height = parse_number(parts.front(), kMaxInputSide);
    size.width = parse_number(parts.back(), kMaxInputSide);
  }
  if (size.height == 0 || size.width == 0) {
    fail_usage("--size {}: expected N or HEIGHTxWIDTH with sides from 1 to {}", text,
               kMaxInputSide);
  }
  return size;
}

Shard parse_shard(const std::string& text) {
  constexpr int kMost = 1 << 20;
  Shard shard;
  if (text.empty()) return shard;
  const auto parts = split(text, '/');
  if (parts.size() == 2) {
    shard.index = parse_number(parts[0], kMost);
    shard.count = parse_number(parts[1], kMost);
  }
  if (parts.size() != 2 || shard.index == 0 || shard.count == 0 || shard.index > shard.count) {
    fail_usage("--shard {}: expected I/N with I from 1 to N, such as 2/8", text);
  }
  return shard;
}

std::vector<size_t> shard_samples(const std::string& text, size_t size) {
  const Shard shard = parse_shard(text);
  if (static_cast<size_t>(shard.count) > std::max(size, size_t{1})) {
    fail_usage("--shard {}: more parts than the {} images", text, size);
  }
  std::vector<size_t> samples(shard.last(size) - shard.first(size));
  std::iota(samples.begin(), samples.end(), shard.first(size));
  return samples;
}

void add_shard(Command& command, std::string& shard) {
  command
      .option(
          "--shard", shard,
          "Process only part I of N equal parts of the images, I from 1 to N, so that N jobs can "
          "share a folder")
      .value("I/N");
}

std::vector<InputSize> parse_sizes(const std::string& list) {
  std::vector<InputSize> sizes;
  for (std::string_view part : split(list, ',')) sizes.push_back(parse_size(std::string(part)));
  return sizes;
}

std::vector<int> parse_integers(const std::string& option, const std::string& list, int most) {
  std::vector<int> integers;
  for (std::string_view part : split(list, ',')) {
    integers.push_back(parse_number(part, most));
    if (integers.back() == 0) {
      fail_usage("{} {}: expected whole numbers from 1 to {}, separated by commas", option, list,
                 most);
    }
  }
  return integers;
}

}  // namespace vig::cli
