#include "vig/train/run_folder.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "vig/base/error.h"
#include "vig/weights/atomic_file.h"

namespace vig::train {
namespace {

using Json = nlohmann::json;
using Texts = std::map<std::string, std::string>;

// Paths need not be UTF-8, but files of JSON are.
std::string dump(const Texts& texts, int indent) {
  return Json(texts).dump(indent, ' ', false, Json::error_handler_t::replace);
}

void check_same_run(const std::string& path, const Texts& stored, const Texts& asked) {
  std::vector<std::string> differences;
  for (const auto& [name, value] : asked) {
    const auto found = stored.find(name);
    const std::string before = found == stored.end() ? "absent" : found->second;
    if (before != value)
      differences.push_back(fmt::format("{} was {}, is {}", name, before, value));
  }
  for (const auto& [name, value] : stored) {
    if (!asked.contains(name)) differences.push_back(fmt::format("{} was {}", name, value));
  }
  if (differences.empty()) return;
  fail_usage("{} holds another run ({}); give the same options or another folder", path,
             fmt::join(differences, "; "));
}

}  // namespace

FolderLock::~FolderLock() {
  if (folder_ >= 0) ::close(folder_);
}

void FolderLock::take(const std::string& folder) {
  folder_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Where folders cannot be locked, the user must take care.
  if (folder_ >= 0 && ::flock(folder_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    fail("{}: another process is training in this folder", folder);
  }
}

RunFolder::RunFolder(const std::string& path, const Texts& description, const Texts& record,
                     size_t checkpoint_bytes, bool writes)
    : path_(path), description_(Json::parse(dump(description, -1)).get<Texts>()) {
  std::error_code error;
  if (writes) {
    std::filesystem::create_directories(path, error);
    if (error) fail("{}: cannot make the folder: {}", path, error.message());
    lock_.take(path);
  }
  has_checkpoint_ = std::filesystem::exists(checkpoint());
  if (!writes) return;
  if (has_checkpoint_) check_same_run(path, read_description(checkpoint()), description_);
  remove_leftovers();
  // The old and the new checkpoint are there at the same time, and two networks beside them.
  const size_t needed = 3 * checkpoint_bytes;
  const std::filesystem::space_info space = std::filesystem::space(path, error);
  if (!error && space.available < needed) {
    fail("{}: the disk has {} MB left, expected {} MB for checkpoints", path, space.available >> 20,
         (needed >> 20) + 1);
  }
  AtomicFile(record_file()).commit_text(dump(record, 1) + "\n");
}

// What a process that was killed while writing left behind.
void RunFolder::remove_leftovers() const {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
    const std::string name = entry.path().filename().string();
    for (const std::string& file :
         {checkpoint(), best(), last(), metrics(), curves(), record_file()}) {
      const std::string start = file.substr(path_.size() + 1) + ".tmp-";
      if (name.starts_with(start)) std::filesystem::remove(entry.path(), ignored);
    }
  }
}

void RunFolder::write_metrics(const std::string& title, const std::vector<MetricsRow>& rows) const {
  AtomicFile(metrics()).commit_text(metrics_csv(rows));
  AtomicFile(curves()).commit_text(curves_svg(title, rows));
}

}  // namespace vig::train
