// What the commands that run pictures through a network share.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "vig/cli/options.h"
#include "vig/cli/progress.h"
#include "vig/pipeline/runner.h"

namespace vig::cli {

// A network, and how pictures go through it.
struct NetworkOptions {
  ModelOptions model;  // without a name: the default model
  int size = 0;        // 0: the one that belongs to the weights
  int batch = 0;       // 0: by the size
  int threads = 0;
  bool ignore_orientation = false;
  int64_t max_pixels = DecodeOptions().max_pixels;

  DecodeOptions decode() const;
  RunOptions run(const Recipe& recipe, size_t pictures) const;  // no larger than there are pictures
};

void add_network_options(CLI::App& command, NetworkOptions& options);

// Raises when neither a model is named nor a default model is there.
ModelSource chosen_source(const NetworkOptions& options);
// The recipe of the weights, at the size asked for.
Recipe chosen_recipe(const ModelSource& source, const NetworkOptions& options);
// One line on which model it is that nobody named, and on its classes; empty when one was named.
std::string default_model_note(const ModelSource& source, const NetworkOptions& options);

struct PictureOptions : NetworkOptions {
  std::vector<std::string> inputs;
};

void add_picture_options(CLI::App& command, PictureOptions& options);

// The pictures of one command, and how it went.
class PictureRun {
 public:
  // Raises when there is no picture to run.
  PictureRun(const PictureOptions& options, const Recipe& recipe);

  // For the model: no larger than there are pictures.
  RunOptions run_options() const { return run_options_; }

  // Calls `handle` with each batch until all are done or Ctrl-C. Before printing anything it must
  // hide the progress it is given.
  using Handle = std::function<void(std::span<const Picture> pictures, Progress& progress)>;
  void run(const Recipe& recipe, const Handle& handle);

  // A picture without an answer: said on standard error, and remembered for the exit status.
  void reject(const std::string& reason);
  int exit_status() const;

 private:
  std::vector<std::string> files_;
  DecodeOptions decode_;
  RunOptions run_options_;
  int64_t done_ = 0;
  int64_t rejected_ = 0;
};

}  // namespace vig::cli
