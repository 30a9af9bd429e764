// Shared by the readers of annotated images: files by name, names of splits, checks of samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vig/data/archive.h"
#include "vig/data/data_report.h"
#include "vig/image/decode.h"

namespace vig {

// "train", "val" or "test"; empty for another name. Knows "training", "valid" and "validation".
std::string_view split_of(std::string_view name);

// Names that begin with a dot in any part, and __MACOSX.
bool is_hidden_name(std::string_view name);

// Without folders, and without how it ends.
std::string_view base_name(std::string_view name);
std::string_view folder_of(std::string_view name);  // with its slash; empty for none
std::string_view without_extension(std::string_view name);

// The files of an archive that are not hidden, by name.
class FilesByName {
 public:
  explicit FilesByName(std::shared_ptr<const Archive> archive);

  const std::shared_ptr<const Archive>& archive() const { return archive_; }
  std::optional<uint32_t> find(std::string_view name) const;
  // In the archive's order.
  const std::vector<uint32_t>& files() const { return files_; }
  std::string_view name(uint32_t file) const { return archive_->files()[file]; }

  // A file of a folder that lies outside of it, behind a link: nothing there is to be opened.
  bool leads_out(uint32_t file) const;
  std::string why_refused(uint32_t file) const;  // a file that leads out, as a sentence

  // Folders that hold everything else, from the outermost: "", "camvid/", .. At most eight.
  std::vector<std::string> roots() const;

 private:
  std::shared_ptr<const Archive> archive_;
  std::filesystem::path real_folder_;  // of a folder; empty for an archive
  std::vector<uint32_t> files_;
  std::unordered_map<std::string_view, uint32_t> by_name_;
};

// The whole of a file, mapped where it lies in a folder. Throws Error, also where it leads out.
struct SharedText {
  std::shared_ptr<const void> owner;
  std::string_view text;
};
SharedText read_text(const FilesByName& files, uint32_t file);
SharedText read_text(const std::string& path);

// The bytes of a file for a decoder; the archive outlives it.
ImageSource image_source(const Archive& archive, uint32_t file);

// Calls `examine` for every sample, on several threads; samples for which it throws Error are left
// out and named. Gives the others, in order.
std::vector<size_t> examine_samples(size_t count, const CheckOptions& options,
                                    const std::function<void(size_t)>& examine, DataReport& report);

// The splits to read of those that are there, in the order of preference. Throws Error (usage) for
// an unknown name.
std::vector<std::string> choose_splits(const std::vector<std::string>& wanted,
                                       const std::vector<std::string>& there, bool first_only);

}  // namespace vig
