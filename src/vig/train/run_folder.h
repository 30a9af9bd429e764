// The folder of a run; see trainer.h for what lies in it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vig/train/state.h"

namespace vig::train {

// Held until the end, however that comes.
class FolderLock {
 public:
  FolderLock() = default;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  // Raises while another process holds it.
  void take(const std::string& folder);

 private:
  int folder_ = -1;
};

class RunFolder {
 public:
  // Makes the folder and tries to write to it: raises when it cannot be, when the disk has no room
  // for the checkpoints to come, when it holds a checkpoint of another run (saying in what they
  // differ), or while another process trains in it. With `writes` false it only looks.
  // `description` says which run this is, `record` is for people to read.
  RunFolder(const std::string& path, const std::map<std::string, std::string>& description,
            const std::map<std::string, std::string>& record, size_t checkpoint_bytes, bool writes);

  bool has_checkpoint() const { return has_checkpoint_; }
  std::string checkpoint() const { return path_ + "/checkpoint.safetensors"; }
  std::string best() const { return path_ + "/best.safetensors"; }
  std::string last() const { return path_ + "/last.safetensors"; }
  std::string metrics() const { return path_ + "/metrics.csv"; }
  std::string curves() const { return path_ + "/curves.svg"; }
  std::string record_file() const { return path_ + "/run.json"; }
  const std::map<std::string, std::string>& description() const { return description_; }

  void write_metrics(const std::string& title, const std::vector<MetricsRow>& rows) const;

 private:
  void remove_leftovers() const;

  std::string path_;
  std::map<std::string, std::string> description_;
  bool has_checkpoint_ = false;
  FolderLock lock_;
};

}  // namespace vig::train
