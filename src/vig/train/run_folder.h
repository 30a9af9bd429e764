// The folder of a run; see trainer.h for what lies in it.
#pragma once

#include <string>
#include <vector>

#include "vig/base/folder_lock.h"
#include "vig/train/curves.h"
#include "vig/train/processes/group.h"
#include "vig/train/run_record.h"

namespace vig::train {

class RunFolder {
 public:
  // Makes the folder and tries to write to it: throws when it cannot be, when the disk has no room
  // for the checkpoints to come, when it holds a checkpoint of another run (saying in what they
  // differ), or while another process trains in it. With `writes` false it only reads.
  // `description` says which run this is (see run_record.h).
  RunFolder(const std::string& path, const Texts& description, size_t checkpoint_bytes,
            bool writes);

  const std::string& path() const { return path_; }
  bool has_checkpoint() const { return has_checkpoint_; }
  std::string checkpoint() const { return path_ + "/checkpoint.safetensors"; }
  std::string best() const { return path_ + "/best.safetensors"; }
  std::string last() const { return path_ + "/last.safetensors"; }
  std::string metrics() const { return path_ + "/metrics.csv"; }
  std::string curves() const { return path_ + "/curves.svg"; }
  std::string events() const { return path_ + "/events.out.tfevents.vig"; }
  std::string record_file() const { return path_ + "/run.json"; }
  std::string validation_list() const { return path_ + "/validation.txt"; }
  // As given, with what the checkpoint knows of the run's past.
  const Texts& description() const { return description_; }

  // run.json, and the names of the validation images where they were held out.
  void write_record(const std::string& json, const TaskData& data) const;
  void write_metrics(const CurvesInfo& info, const std::vector<MetricsRow>& rows) const;

 private:
  std::string path_;
  Texts description_;
  bool has_checkpoint_ = false;
  FolderLock lock_;
};

// Throws when the run's folder lies among the images, where it would be taken for a class.
void check_apart(const std::string& data, const std::string& out);

// By process: does it see the folder that the first one writes to? All of them call it.
std::vector<bool> seen_by(Group& group, const std::string& folder);

// Removes what a process that was killed while writing left in a run's folder.
void remove_temporaries(const std::string& folder);

}  // namespace vig::train
