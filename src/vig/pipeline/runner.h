// What every picture task shares: one packed model, a session per input size, pictures in batches.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vig/pipeline/model_source.h"
#include "vig/pipeline/pictures.h"
#include "vig/runtime/session.h"

namespace vig {

struct RunOptions {
  int threads = 0;  // 0: all of the machine
  int batch = 1;    // most pictures that run together
  // Called once if the system starts fewer threads than asked for. Answers are the same bits.
  std::function<void(int started, int asked)> on_fewer_threads = {};
};

class Runner {
 public:
  // Binds and packs the weights, so everything that can be wrong with a model is raised here.
  // Afterwards nothing of the weight file is held.
  Runner(const ModelSource& source, const RunOptions& options);

  const std::string& name() const { return name_; }
  const ModelSpec& spec() const { return spec_; }
  const std::vector<std::string>& classes() const { return classes_; }
  // How pictures must be cut for an input of `size`; 0 stands for the size that belongs to the
  // weights.
  Recipe recipe(int size = 0) const;

  // Called once per good picture: its index in `pictures`, and where its values stand.
  using Take = std::function<void(size_t index, const Session& session, int image)>;
  // The pictures have one size. Not for two threads at once.
  void run(std::span<const Picture> pictures, const Take& take);

  Session& session(int height, int width);

 private:
  std::string name_;
  ModelSpec spec_;
  std::vector<std::string> classes_;
  RunOptions options_;
  std::shared_ptr<const PackedModel> model_;
  std::map<std::pair<int, int>, Session> sessions_;
};

// As many pictures together as fill the machine without needing much more memory than one large
// one would: 8 at 224, 2 at 448, 1 from 640 on.
int default_batch(int size);

}  // namespace vig
