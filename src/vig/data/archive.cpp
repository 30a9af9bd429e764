#include "vig/data/archive.h"

#include <filesystem>
#include <system_error>

#include "vig/base/error.h"
#include "vig/base/mapped_file.h"
#include "vig/base/printable.h"
#include "vig/base/zip.h"
#include "vig/data/archive_formats.h"
#include "vig/data/tar.h"

namespace vig {
namespace {

bool begins_with(std::span<const uint8_t> bytes, std::string_view start) {
  return bytes.size() >= start.size() &&
         std::equal(start.begin(), start.end(), bytes.begin(),
                    [](char c, uint8_t byte) { return static_cast<uint8_t>(c) == byte; });
}

}  // namespace

std::string clean_name(std::string_view name) {
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
  return (std::filesystem::path(name).parent_path() / target).lexically_normal().string();
}

std::string_view label_format(std::string_view name) {
  const size_t dot = name.rfind('.');
  const std::string_view extension = dot == std::string_view::npos ? "" : name.substr(dot);
  if (extension == ".csv" || extension == ".tsv") return "labels in CSV files";
  if (extension == ".json" || extension == ".jsonl") return "COCO and other annotations in JSON";
  if (extension == ".xml") return "annotations in XML";
  if (extension == ".parquet") return "labels in Parquet files";
  return "";
}

std::string Archive::place(size_t file) const {
  return path_ + (path_.ends_with('/') ? "" : "/") + printable(files_[file], 4096);
}

std::shared_ptr<const Archive> open_archive(const std::string& path,
                                            const ArchiveOptions& options) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return open_folder(path);

  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  ArchiveBytes content{file, file->bytes()};
  // An archive without files is only its end record.
  if (is_zip(content.bytes) || begins_with(content.bytes, "PK\5\6")) return open_zip(path, content);
  if (begins_with(content.bytes, "\x1f\x8b")) {
    content = unpack_gzip(path, content.bytes, options.max_unpacked_bytes);
  }
  if (!looks_like_tar(content.bytes)) {
    const std::string_view labels = label_format(path);
    fail(
        "{}: expected a folder, a .tar, a .tar.gz or a .zip with a folder for each class, found {}",
        path,
        labels.empty() ? "another kind of file"
                       : fmt::format("a file of labels: {} are not supported", labels));
  }
  return open_tar(path, content);
}

}  // namespace vig
