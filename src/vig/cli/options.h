// Options that mean the same in every subcommand.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vig/cli/command_line.h"
#include "vig/pipeline/model_source.h"
#include "vig/runtime/precision.h"

namespace vig::cli {

// --threads
void add_threads(Command& command, int& threads);
// --max-pixels
void add_max_pixels(Command& command, int64_t& pixels);
// --json
void add_json(Command& command, bool& json);

// A model by name or file, and what changes it.
struct ModelOptions {
  std::string model;
  std::string arch;
  std::vector<std::string> fields;  // "FIELD=VALUE"

  ModelRequest request() const;
};
// --arch and --set; each command has its own option for the model itself.
void add_model_changes(Command& command, ModelOptions& options);

// --precision and --float-layers
struct PrecisionOptions {
  std::string name = "float32";
  std::vector<std::string> float_layers;

  Precision precision() const;
};
void add_precision(Command& command, PrecisionOptions& options);
// --float-layers alone, behind a --precision of another kind.
void add_float_layers(Command& command, std::vector<std::string>& layers);

// "classes=10" to a field and its value; throws a usage error on anything else.
std::map<std::string, std::string> parse_fields(const std::vector<std::string>& settings);

struct InputSize {
  int height = 0;
  int width = 0;
};
// "500MB", "1.5GB" (powers of 1000), "2GiB" (of 1024) or a number of bytes; throws a usage error on
// anything else. `option` stands in the message.
uint64_t parse_bytes(const std::string& option, const std::string& text);

// "224" or "384x512" (height first); throws a usage error on anything else.
InputSize parse_size(const std::string& text);
std::vector<InputSize> parse_sizes(const std::string& list);
// One of several equal parts of a list, for jobs that share it: part `index` of `count`, counted
// from 1. The parts in their order are the list.
struct Shard {
  int index = 1;
  int count = 1;

  size_t first(size_t size) const { return size * static_cast<size_t>(index - 1) / parts(); }
  size_t last(size_t size) const { return size * static_cast<size_t>(index) / parts(); }

 private:
  size_t parts() const { return static_cast<size_t>(count); }
};
// "2/8"; throws a usage error on anything else.
Shard parse_shard(const std::string& text);
// Which of `size` samples belong to a part ("2/8", empty: all), for results that no part may be
// without: throws a usage error where there are fewer samples than parts.
std::vector<size_t> shard_samples(const std::string& shard, size_t size);
// --shard
void add_shard(Command& command, std::string& shard);

// "1,2,4"; `option` stands in the message.
std::vector<int> parse_integers(const std::string& option, const std::string& list, int most);

}  // namespace vig::cli
