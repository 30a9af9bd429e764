#include "vig/cli/file_roles.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "vig/base/error.h"
#include "vig/base/regular_file.h"
#include "vig/data/csv_list.h"
#include "vig/data/folder_listing.h"
#include "vig/data/shards.h"
#include "vig/image/decode.h"
#include "vig/weights/atomic_file.h"

namespace vig::cli {
namespace {

namespace fs = std::filesystem;

// The folder of unnamed files.
struct StandardStream {
  int descriptor;
  const char* name;
};
constexpr StandardStream kStreams[] = {{STDOUT_FILENO, "standard output"},
                                       {STDERR_FILENO, "standard error"}};

// Pipes, terminals and devices do not count as files.
std::optional<std::pair<dev_t, ino_t>> regular(bool known, const struct stat& status) {
  if (!known || !S_ISREG(status.st_mode)) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

std::optional<std::pair<dev_t, ino_t>> identify_stream(int descriptor) {
  struct stat status = {};
  return regular(::fstat(descriptor, &status) == 0, status);
}

// Files of a folder that may be images, labels, lists, annotations or a run's own.
bool is_data(const fs::path& file) {
  const std::string ending = file.extension().string();
  return has_image_extension(file.string()) || ending == ".txt" || ending == ".json" ||
         ending == ".safetensors" || file.filename() == "metrics.csv";
}

std::string made_at(const std::string& path) {
  std::error_code error;
  const fs::path file(path);
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const fs::path real = fs::canonical(folder, error);
  return ((error ? folder : real) / file.filename()).string();
}

}  // namespace

std::optional<FileRoles::Identity> FileRoles::identify(const std::string& path) {
  if (path == "-") return identify_stream(STDIN_FILENO);
  struct stat status = {};
  return regular(::stat(path.c_str(), &status) == 0, status);
}

void FileRoles::write(const std::string& option, const std::string& path, bool stoppable) {
  if (path.empty()) return;
  const auto add = [&](const std::string& file) {
    const std::string name = file == "-" ? "./-" : file;  // an output of that name is a file
    outputs_.push_back({option, file, identify(name), made_at(name)});
  };
  add(path);
  if (stoppable) add(partial_name(path));
}

void FileRoles::write_one_of(const std::string& option, const std::string& path) {
  if (const auto identity = identify(path)) many_.emplace(*identity, Output{option, path, {}, {}});
}

void FileRoles::read_images(const std::vector<std::string>& files,
                            const std::vector<ImageOrigin>& origins) {
  images_ = &files;
  origins_ = &origins;
}

void FileRoles::read(std::string what, std::string path) {
  inputs_.push_back({std::move(what), std::move(path), false});
}

void FileRoles::read_data(const std::string& path) {
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored);
  if (const std::vector<std::string> shards = find_shards(path); !shards.empty()) {
    for (const std::string& shard : shards) read("data", shard);
    return;
  }
  if (!folder) read("data", path);
  // Outputs that are not there yet are no data.
  if (many_.empty() && std::ranges::none_of(outputs_, [](const Output& output) {
        return output.identity.has_value();
      }))
    return;
  if (folder) {
    const FolderListing listing = list_folder(path);
    for (size_t i = 0; i < listing.files.size(); ++i) {
      if (!is_data(listing.files[i])) continue;
      inputs_.push_back({"data", (fs::path(path) / listing.files[i]).string(),
                         listing.kinds[i] == EntryKind::kFile});
    }
  } else if (is_csv_list(path) && fs::is_regular_file(path, ignored)) {
    for (const CsvRow& row : parse_csv_list(path, read_regular_file(path, kMaxCsvBytes)).rows) {
      read("image", (fs::path(path).parent_path() / row.path).string());
    }
  }
}

void FileRoles::check_outputs() const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    for (size_t j = 0; j < i; ++j) {
      const Output& other = outputs_[j];
      const bool same = output.identity ? output.identity == other.identity
                                        : output.location == other.location && !other.identity;
      if (!same) continue;
      fail_usage("{} {} and {} {} are the same file; choose another name for one of them",
                 other.option, other.path, output.option, output.path);
    }
    for (const StandardStream& stream : kStreams) {
      if (!output.identity || identify_stream(stream.descriptor) != output.identity) continue;
      fail_usage("{} {} is the file that {} goes into; choose another name for one of them",
                 output.option, output.path, stream.name);
    }
  }
}

bool FileRoles::Written::may_be(std::string_view path) const {
  return linked || file_names.contains(std::string(path.substr(path.rfind('/') + 1)));
}

FileRoles::Written FileRoles::find_written() const {
  Written written;
  const auto add = [&](const Identity& identity, const std::string& name, const std::string& path) {
    struct stat status = {};
    const bool known = ::stat(path.c_str(), &status) == 0;
    if (known && status.st_nlink == 0) return;  // a stream without a name is no input
    written.names.emplace(identity, name);
    std::error_code error;
    written.file_names.insert(fs::canonical(path, error).filename().string());
    written.linked = written.linked || error || !known || status.st_nlink > 1;
  };
  for (const Output& output : outputs_) {
    if (output.identity) add(*output.identity, output.option + " " + output.path, output.path);
  }
  for (const StandardStream& stream : kStreams) {
    const auto identity = identify_stream(stream.descriptor);
    if (!identity) continue;
    if (const auto same = many_.find(*identity); same != many_.end()) {
      fail_usage("{} {} is the file that {} goes into; choose another name for one of them",
                 same->second.option, same->second.path, stream.name);
    }
    add(*identity, stream.name, fmt::format("/proc/self/fd/{}", stream.descriptor));
  }
  for (const auto& [identity, output] : many_) {
    add(identity, output.option + " " + output.path, output.path);
  }
  return written;
}

void FileRoles::check_input(const Written& written, const std::string& what,
                            const std::string& path) {
  const auto identity = identify(path);
  const auto output = identity ? written.names.find(*identity) : written.names.end();
  if (output == written.names.end()) return;
  fail_usage("{} would be written over the {} {}; choose another name for the output",
             output->second, what, path);
}

void FileRoles::check() const {
  check_outputs();
  const Written written = find_written();
  if (written.names.empty()) return;
  for (const Input& input : inputs_) {
    if (!input.listed || written.may_be(input.path)) check_input(written, input.what, input.path);
  }
  if (images_ == nullptr) return;
  for (size_t i = 0; i < images_->size(); ++i) {
    const std::string& image = (*images_)[i];
    const uint32_t archive = (*origins_)[i].archive;
    const bool named = archive == ImageOrigin::kNamed;
    if (named || (archive == ImageOrigin::kListed && written.may_be(image))) {
      check_input(written, "image", image);
    }
  }
}

}  // namespace vig::cli
