// Images with objects, from annotations in COCO's JSON.
//
//   ROOT/annotations/instances_SPLIT.json   SPLIT is train, val or test, a year may follow
//   ROOT/SPLIT.json, ROOT/SPLIT/_annotations.coco.json
//   FILE.json                               one unnamed split
//
// ROOT is a folder or an archive; everything in it may lie in one folder. Images are searched
// by file_name below ROOT, ROOT/SPLIT, ROOT/images, ROOT/images/SPLIT and the folder of the JSON
// file; nothing outside of ROOT is ever opened, not through links either. ROOT of a file is the
// folder above "annotations", or its own folder.
//
// Files are not trusted. JSON that is damaged, deep, of other types or out of range throws;
// annotations that are only wrong (of an unknown image or category, without area, with runs that
// do not fill the image) are left out and named in the report.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/data/data_report.h"
#include "vig/data/dataset.h"
#include "vig/data/image_files.h"
#include "vig/data/objects.h"

namespace vig {

struct CocoOptions {
  ArchiveOptions archive = {};
  // As stored: what the annotations were drawn on.
  DecodeOptions decode = {.apply_orientation = false};
  uint64_t cache_bytes = DatasetOptions().cache_bytes;  // see DatasetOptions
  std::string images = {};  // a folder or archive to search for images, instead of ROOT
  std::vector<std::string> splits = {"train", "val", "test"};
  bool first_split_only = false;
};

struct CocoAnnotation;
struct CocoPart;  // what the copies of a data set share: archive, images, annotations

// Images in ascending order of their numbers. Copies share everything.
class CocoDataset : public SampleSource {
 public:
  size_t size() const override { return samples_.size(); }
  // Names of the categories in ascending order of their ids, which have gaps; labels count them.
  const std::vector<std::string>& classes() const;
  const std::vector<int64_t>& category_ids() const;

  std::string location(size_t sample) const override;
  std::string path(size_t sample) const override;
  int64_t image_id(size_t sample) const;
  int width(size_t sample) const;  // as annotated
  int height(size_t sample) const;
  size_t object_count(size_t sample) const;

  // The objects with their masks. Throws Error when the masks take too much to make.
  Objects objects(size_t sample) const;
  // With Objects as target. Throws Error when the image has another size than annotated.
  Sample load(size_t sample) const override;

  // What a detector learns from: without objects that are flagged to be ignored, smaller than a
  // pixel or outside of the image, and without images that then show none but crowds or have a
  // side below 32. Throws Error when nothing is left.
  CocoDataset for_training() const;
  CocoDataset subset(std::span<const size_t> samples) const;

  // What opening left out.
  const DataReport& problems() const;

 private:
  friend class CocoReader;
  friend DataReport check(CocoDataset&, const CheckOptions&);
  CocoDataset() = default;
  std::span<const CocoAnnotation> annotations(size_t sample) const;

  std::shared_ptr<const CocoPart> part_;
  std::vector<uint32_t> samples_;  // images of the part
  bool training_ = false;
};

// Either `whole`, or any of the others. All have the same categories.
struct CocoSplits {
  std::optional<CocoDataset> whole, train, val, test;
  std::vector<std::string> there;  // all splits by name, read or not

  const std::vector<std::string>& classes() const;  // of what was read; throws Error if nothing
};

CocoSplits open_coco(const std::string& path, const CocoOptions& options = {});

// Leaves out images that are missing or of another size than annotated, and names what opening
// left out. Throws Error when no image is left.
DataReport check(CocoDataset& data, const CheckOptions& options = {});

// Parses annotations alone and makes the objects of every image, for tests of hostile files;
// gives their number. Throws Error.
size_t parse_coco_text(const std::string& name, std::string_view json);

}  // namespace vig
