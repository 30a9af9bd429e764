#include "vig/data/archive.h"

#include <filesystem>
#include <system_error>

#include "vig/base/error.h"
#include "vig/base/mapped_file.h"
#include "vig/base/memory_budget.h"
#include "vig/base/printable.h"
#include "vig/base/zip.h"
#include "vig/data/archive_formats.h"
#include "vig/data/tar.h"

namespace vig {
namespace {

// What a name takes beside its characters, in the archive and in a data set made from it.
constexpr uint64_t kNameBytes = 128;

bool begins_with(std::span<const uint8_t> bytes, std::string_view start) {
  return bytes.size() >= start.size() &&
         std::equal(start.begin(), start.end(), bytes.begin(),
                    [](char c, uint8_t byte) { return static_cast<uint8_t>(c) == byte; });
}

bool is_clean(std::string_view name) {
  const auto at = [&](size_t i) { return i < name.size() ? name[i] : '/'; };
  for (size_t i = 0; i < name.size(); ++i) {
    const bool begins = i == 0 || name[i - 1] == '/';
    if (begins && (name[i] == '/' || (name[i] == '.' && at(i + 1) == '/'))) return false;
  }
  return !name.ends_with('/');
}

std::string folder_start(const std::string& path) {
  return path.empty() || path.ends_with('/') ? path : path + "/";
}

// A small file that became large takes memory from the decoders of images as long as it is open.
// Honest archives of images are not counted: their size is known to who opens them.
std::shared_ptr<const Archive> count_unpacked(std::shared_ptr<const Archive> archive,
                                              uint64_t unpacked, uint64_t packed) {
  constexpr uint64_t kHonestRatio = 4;
  uint64_t bytes = unpacked;
  for (const std::string& name : archive->files()) bytes += name.capacity() + kNameBytes;
  for (const std::string& name : archive->folders()) bytes += name.capacity() + kNameBytes;
  if (bytes / kHonestRatio <= packed) return archive;
  const uint64_t counted = bytes - packed * kHonestRatio;
  image_memory().hold(counted);
  const Archive* const plain = archive.get();
  return {plain, [archive = std::move(archive), counted](const Archive*) mutable {
            archive.reset();
            image_memory().give_back(counted);
          }};
}

}  // namespace

std::string clean_name(std::string_view name) {
  // Nearly all are clean; part by part, long ones would cost seconds.
  if (is_clean(name)) return std::string(name);
  std::string clean;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (!clean.empty()) clean += '/';
    clean += part;
  }
  return clean;
}

std::string follow_link(const std::string& name, std::string_view target) {
  const size_t folder = target.starts_with('/') ? 0 : name.rfind('/') + 1;  // npos + 1 is 0
  const std::string path = clean_name(name.substr(0, folder) + std::string(target));
  // In one pass, because names may have thousands of parts.
  std::string result;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = std::string_view(path).substr(begin, end - begin);
    begin = end + 1;
    if (part == "..") {
      if (result.empty()) return "..";  // out of the archive
      const size_t slash = result.rfind('/');
      result.resize(slash == std::string::npos ? 0 : slash);
      continue;
    }
    if (!result.empty()) result += '/';
    result += part;
  }
  return target.starts_with('/') ? "/" + result : result;
}

std::string_view label_format(std::string_view name) {
  const size_t dot = name.rfind('.');
  const std::string_view extension = dot == std::string_view::npos ? "" : name.substr(dot);
  if (extension == ".tsv") return "labels in TSV files";
  if (extension == ".json" || extension == ".jsonl") return "COCO and other annotations in JSON";
  if (extension == ".xml") return "annotations in XML";
  if (extension == ".parquet") return "labels in Parquet files";
  return "";
}

std::string Archive::file_path(size_t file) const {
  if (files_[file].starts_with('/')) return files_[file];
  return folder_start(path_) + files_[file];
}

std::string Archive::location(size_t file) const {
  const std::string name = printable(files_[file], 4096);
  if (name.starts_with('/')) return name;
  return folder_start(path_) + name;
}

size_t Archive::read_start(size_t, std::span<uint8_t>) const { return 0; }

std::shared_ptr<const Archive> open_archive(const std::string& path,
                                            const ArchiveOptions& options) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return open_folder(path);

  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  ArchiveBytes content{file, file->bytes()};
  // An archive without files is only its end record.
  if (is_zip(content.bytes) || begins_with(content.bytes, "PK\5\6")) return open_zip(path, content);
  const uint64_t packed = content.bytes.size();
  const bool gzip = begins_with(content.bytes, "\x1f\x8b");
  if (gzip) content = unpack_gzip(path, content.bytes, options.max_unpacked_bytes);
  if (!looks_like_tar(content.bytes)) {
    const std::string_view labels = label_format(path);
    fail(
        "{}: expected a folder, a .tar, a .tar.gz or a .zip with a folder for each class, or a "
        ".csv of paths and labels, found {}",
        path,
        labels.empty() ? "another kind of file"
                       : fmt::format("a file of labels: {} are not supported", labels));
  }
  std::shared_ptr<const Archive> archive = open_tar(path, content);
  return gzip ? count_unpacked(std::move(archive), content.bytes.size(), packed) : archive;
}

}  // namespace vig
