#include "vig/train/run_folder.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "vig/base/error.h"
#include "vig/base/folder_entries.h"
#include "vig/base/utf8.h"
#include "vig/train/event_file.h"
#include "vig/train/state.h"
#include "vig/weights/atomic_file.h"

namespace vig::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {
    "checkpoint.safetensors",  "best.safetensors", "last.safetensors", "metrics.csv", "curves.svg",
    "events.out.tfevents.vig", "run.json",         "validation.txt",   "files.index"};

// As a checkpoint gives it back: paths need not be UTF-8, but JSON is.
Texts as_stored(const Texts& texts) {
  Texts stored;
  for (const auto& [name, text] : texts) stored[as_utf8(name)] = as_utf8(text);
  return stored;
}

}  // namespace

RunFolder::RunFolder(const std::string& path, const Texts& description, size_t checkpoint_bytes,
                     bool writes)
    : path_(path), description_(as_stored(description)) {
  std::error_code error;
  if (writes) {
    fs::create_directories(path, error);
    if (error) fail("{}: cannot make the folder: {}", path, error.message());
    lock_.take(path, "training");
  }
  has_checkpoint_ = fs::exists(checkpoint());
  if (has_checkpoint_) {
    description_ = continued_identity(path, read_description(checkpoint()), description_,
                                      read_step(checkpoint()));
  }
  if (!writes) return;
  remove_temporaries(path);
  // The old and the new checkpoint are there at the same time, and two networks beside them.
  const size_t needed = 3 * checkpoint_bytes;
  const fs::space_info space = fs::space(path, error);
  if (!error && space.available < needed) {
    fail("{}: the disk has {} MB left, expected {} MB for checkpoints", path, space.available >> 20,
         (needed >> 20) + 1);
  }
}

void remove_temporaries(const std::string& folder) {
  std::error_code ignored;
  for (const std::string& name : folder_entries(folder, ignored)) {
    for (const char* file : kFiles) {
      if (name.starts_with(std::string(file) + ".tmp-")) {
        fs::remove(fs::path(folder) / name, ignored);
      }
    }
  }
}

std::vector<bool> seen_by(Group& group, const std::string& folder) {
  // A file under a name that no process has asked for yet, so that no host remembers its absence.
  // A crash leaves it to remove_temporaries.
  double number = 0;
  if (group.rank() == 0) number = static_cast<double>(std::random_device()());
  group.sum({&number, 1});
  const std::string mark = fmt::format("{}/run.json.tmp-shared-{:.0f}", folder, number);
  if (group.rank() == 0) std::ofstream(mark) << "vig\n";
  double written = 0;
  group.sum({&written, 1});
  std::vector<double> seen(static_cast<size_t>(group.size()));
  std::error_code ignored;
  for (int looks = 0; looks < 20 && !fs::exists(mark, ignored); ++looks) {  // slow file systems
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  if (fs::exists(mark, ignored)) seen[static_cast<size_t>(group.rank())] = 1;
  group.sum(seen);
  if (group.rank() == 0) fs::remove(mark, ignored);
  return {seen.begin(), seen.end()};
}

void check_apart(const std::string& data, const std::string& out) {
  std::error_code error;
  if (!fs::is_directory(data, error)) return;
  const fs::path images = fs::canonical(data, error);
  if (error) return;  // opening it says why
  const fs::path folder = fs::weakly_canonical(out, error);
  if (error || std::ranges::mismatch(images, folder).in1 != images.end()) return;
  fail_usage("--out {} lies inside of {}, where it would be taken for images; name another folder",
             out, data);
}

void RunFolder::write_record(const std::string& json, const TaskData& data) const {
  if (!data.held_out.empty()) AtomicFile(validation_list()).commit_text(data.held_out);
  AtomicFile(record_file()).commit_text(json);
}

void RunFolder::write_metrics(const CurvesInfo& info, const std::vector<MetricsRow>& rows) const {
  AtomicFile(metrics()).commit_text(metrics_csv(info.columns, rows));
  AtomicFile(curves()).commit_text(curves_svg(info, rows));
  extend_file(events(), event_file(info.columns, rows));
}

}  // namespace vig::train
