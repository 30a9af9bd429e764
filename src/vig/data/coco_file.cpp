#include "vig/data/coco_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/data/json_reader.h"
#include "vig/image/decode.h"

namespace vig {
namespace {

constexpr int64_t kMaxSide = int64_t{1} << 20;
constexpr int64_t kMaxBoxNumber = int64_t{1} << 24;  // integers up to it are exact in float
constexpr int64_t kMinId = std::numeric_limits<int64_t>::min();
constexpr int64_t kMaxId = std::numeric_limits<int64_t>::max();

// An annotation that is wrong, but in a file that is not.
struct Wrong {
  std::string why;
};

// As parsed, with ids instead of indices.
struct RawAnnotation {
  CocoAnnotation value;
  int64_t image_id = 0, category_id = 0;
};

struct Category {
  int64_t id = 0;
  std::string name;
};

// The columns that the edges of a polygon cross inside of an image.
uint64_t columns_crossed(const std::vector<double>& corners, int width) {
  double sum = 0;
  for (size_t i = 0; i < corners.size(); i += 2) {
    const double next = corners[(i + 2) % corners.size()];
    sum +=
        1 + std::abs(std::clamp<double>(next, 0, width) - std::clamp<double>(corners[i], 0, width));
  }
  return static_cast<uint64_t>(sum);
}

std::optional<Mask> read_polygons(JsonReader& json, int width, int height, MaskWork* work) {
  std::vector<Mask> parts;
  std::vector<double> corners;
  bool any = false;
  json.begin_array("a list of polygons");
  while (json.next_item()) {
    corners.clear();
    json.begin_array("a polygon as a list of numbers");
    while (json.next_item()) corners.push_back(json.number("a coordinate of a polygon"));
    if (corners.size() % 2 != 0) {
      throw Wrong{
          fmt::format("a polygon of {} numbers, expected two for each corner", corners.size())};
    }
    if (corners.size() < 6) {
      throw Wrong{fmt::format("a polygon of {} corners, expected at least 3", corners.size() / 2)};
    }
    any = true;
    if (work == nullptr) continue;
    const uint64_t columns = columns_crossed(corners, width);
    if (columns > work->columns) {
      throw Wrong{
          fmt::format("polygons that cross more than {} columns of its image (a fixed limit)",
                      MaskWork().columns)};
    }
    work->columns -= columns;
    parts.push_back(polygon_mask(corners, width, height));
  }
  if (!any) return {};
  if (work == nullptr) return Mask();
  return parts.size() == 1 ? std::move(parts.front()) : unite(parts);
}

std::vector<uint32_t> read_counts(JsonReader& json) {
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> counts;
  json.begin_array("run lengths");
  while (json.next_item()) {
    counts.push_back(static_cast<uint32_t>(json.whole("a run length", 0, kMost)));
  }
  return counts;
}

Mask read_runs(JsonReader& json, const std::string& where, int width, int height) {
  constexpr std::array<std::string_view, 2> kFields = {"size", "counts"};
  std::array<int64_t, 2> size = {0, 0};  // height, width
  std::vector<uint32_t> counts;
  std::optional<std::string> text;
  uint32_t seen = 0;
  json.begin_object("a segmentation");
  for (size_t field; (field = json.next_field(kFields, seen)) < kFields.size();) {
    if (field == 0) {
      size_t count = 0;
      json.begin_array("the height and width of a mask");
      while (json.next_item()) {
        const int64_t side = json.whole("a side of a mask", 1, kMaxSide);
        if (count < 2) size[count] = side;
        ++count;
      }
      if (count != 2) json.fail_here("two numbers as the size of a mask");
    } else if (json.peek() == JsonReader::Kind::kString) {
      text = json.string("run lengths");
    } else {
      counts = read_counts(json);
    }
  }
  if (seen != 3) json.fail_here("a size and counts in a segmentation");
  if (size[0] != height || size[1] != width) {
    throw Wrong{fmt::format("a mask of {}x{} pixels, expected {}x{} as its image", size[1], size[0],
                            width, height)};
  }
  if (text) {
    try {
      return mask_from_text(where, *text, width, height);
    } catch (const Error& error) {
      const std::string_view why = error.what();
      throw Wrong{std::string(why.substr(std::min(why.size(), where.size() + 2)))};
    }
  }
  const uint64_t sum = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  const uint64_t pixels = static_cast<uint64_t>(width) * static_cast<uint64_t>(height);
  if (sum != pixels) {
    throw Wrong{fmt::format("run lengths of {} in all, expected {} for {}x{} pixels", sum, pixels,
                            width, height)};
  }
  return {width, height, std::move(counts)};
}

// Polygons, run lengths as integers or as text, or null. Gives nothing where there are none.
// Without `work` only what can be known without filling polygons is checked.
std::optional<Mask> read_segmentation(JsonReader& json, const std::string& where, int width,
                                      int height, MaskWork* work) {
  if (json.skip_null()) return {};
  if (json.peek() == JsonReader::Kind::kObject) return read_runs(json, where, width, height);
  return read_polygons(json, width, height, work);
}

class CocoParser {
 public:
  CocoParser(const std::string& name, std::string_view text) : json_(file_.name, text) {
    file_.name = name;
    file_.text = text;
  }

  CocoFile parse() {
    constexpr std::array<std::string_view, 3> kFields = {"images", "categories", "annotations"};
    uint32_t seen = 0;
    json_.begin_object("an object with images, categories and annotations");
    for (size_t field; (field = json_.next_field(kFields, seen)) < kFields.size();) {
      json_.begin_array("a list");
      while (json_.next_item()) {
        if (field == 0) read_image();
        if (field == 1) read_category();
        if (field == 2) read_annotation();
      }
    }
    json_.end();
    if ((seen & 1) == 0 || file_.images.empty()) {
      fail("{}: expected COCO's JSON with \"images\", found none", file_.name);
    }
    if (categories_.empty()) {
      fail("{}: expected COCO's JSON with \"categories\", found none", file_.name);
    }
    order_images();
    order_categories();
    resolve_annotations();
    return std::move(file_);
  }

 private:
  template <class List>
  void check_room(const List& list, size_t most, const char* what) const {
    if (list.size() >= most) fail("{}: more than {} {} (a fixed limit)", file_.name, most, what);
  }

  void read_image() {
    constexpr std::array<std::string_view, 4> kFields = {"id", "file_name", "width", "height"};
    check_room(file_.images, CocoFile::kMaxImages, "images");
    CocoImage& image = file_.images.emplace_back();
    uint32_t seen = 0;
    json_.begin_object("an image as an object");
    for (size_t field; (field = json_.next_field(kFields, seen)) < kFields.size();) {
      if (field == 0) image.id = json_.whole("the id of an image", kMinId, kMaxId);
      if (field == 1) image.file_name = json_.string("the file name of an image");
      if (field > 1) {
        (field == 2 ? image.width : image.height) =
            static_cast<int>(json_.whole("a side of an image", 1, kMaxSide));
      }
    }
    require(seen, kFields, 4, "an image");
    const int64_t pixels = int64_t{image.width} * image.height;
    if (pixels > std::numeric_limits<uint32_t>::max()) {
      fail("{}: the image {} of {}x{} pixels, expected fewer than 2^32", file_.name, image.id,
           image.width, image.height);
    }
  }

  void read_category() {
    constexpr std::array<std::string_view, 2> kFields = {"id", "name"};
    check_room(categories_, CocoFile::kMaxCategories, "categories");
    Category& category = categories_.emplace_back();
    uint32_t seen = 0;
    json_.begin_object("a category as an object");
    for (size_t field; (field = json_.next_field(kFields, seen)) < kFields.size();) {
      if (field == 0) category.id = json_.whole("the id of a category", kMinId, kMaxId);
      if (field == 1) category.name = json_.string("the name of a category");
    }
    require(seen, kFields, 2, "a category");
  }

  void read_annotation() {
    constexpr std::array<std::string_view, 8> kFields = {
        "image_id", "category_id", "bbox", "id", "area", "iscrowd", "ignore", "segmentation"};
    check_room(raw_, CocoFile::kMaxAnnotations, "annotations");
    RawAnnotation& raw = raw_.emplace_back();
    CocoAnnotation& value = raw.value;
    std::array<double, 4> box = {};
    bool ignored = false;
    uint32_t seen = 0;
    json_.begin_object("an annotation as an object");
    for (size_t field; (field = json_.next_field(kFields, seen)) < kFields.size();) {
      if (field == 0) raw.image_id = json_.whole("the image_id of an annotation", kMinId, kMaxId);
      if (field == 1) {
        raw.category_id = json_.whole("the category_id of an annotation", kMinId, kMaxId);
      }
      if (field == 2) box = read_box();
      if (field == 3) value.id = json_.whole("the id of an annotation", kMinId, kMaxId);
      if (field == 4) value.area = json_.number("the area of an annotation");
      if (field == 5) value.crowd = json_.flag("iscrowd, 0 or 1");
      if (field == 6) ignored = json_.flag("ignore, 0 or 1");
      if (field == 7) {
        json_.peek();
        value.segmentation = json_.position();
        json_.skip();
      }
    }
    require(seen, kFields, 3, "an annotation");
    if (!std::ranges::all_of(box, [](double x) { return std::abs(x) <= kMaxBoxNumber; })) {
      file_.problems.add(fmt::format(
          "{}: a box of x {:g}, y {:g}, width {:g} and height {:g}, expected numbers from {} to {}",
          file_.location(value), box[0], box[1], box[2], box[3], -kMaxBoxNumber, kMaxBoxNumber));
      raw_.pop_back();
      return;
    }
    if ((seen & 1 << 4) == 0) value.area = box[2] * box[3];
    value.box = {static_cast<float>(box[0]), static_cast<float>(box[1]),
                 static_cast<float>(box[0] + box[2]), static_cast<float>(box[1] + box[3])};
    value.for_training = !ignored && value.area > 0 && box[2] >= 1 && box[3] >= 1;
  }

  std::array<double, 4> read_box() {
    std::array<double, 4> box = {};
    size_t count = 0;
    json_.begin_array("a box of four numbers");
    while (json_.next_item()) {
      if (count == box.size()) json_.fail_here("a box of four numbers");
      box[count++] = json_.number("a box of four numbers");
    }
    if (count != box.size()) {
      fail("{}: a box of {} numbers before byte {}, expected x, y, width and height", file_.name,
           count, json_.position());
    }
    return box;
  }

  void require(uint32_t seen, std::span<const std::string_view> fields, size_t needed,
               const char* what) const {
    for (size_t i = 0; i < needed; ++i) {
      if ((seen & uint32_t{1} << i) == 0) {
        fail("{}: {} without \"{}\" before byte {}", file_.name, what, fields[i], json_.position());
      }
    }
  }

  void order_images() {
    std::ranges::stable_sort(file_.images, {}, &CocoImage::id);
    const auto twice = std::ranges::adjacent_find(file_.images, {}, &CocoImage::id);
    if (twice != file_.images.end()) fail("{}: two images of id {}", file_.name, twice->id);
    for (size_t i = 0; i < file_.images.size(); ++i) {
      image_indices_.emplace(file_.images[i].id, static_cast<uint32_t>(i));
    }
  }

  void order_categories() {
    std::ranges::stable_sort(categories_, {}, &Category::id);
    const auto twice = std::ranges::adjacent_find(categories_, {}, &Category::id);
    if (twice != categories_.end()) fail("{}: two categories of id {}", file_.name, twice->id);
    for (Category& category : categories_) {
      file_.category_ids.push_back(category.id);
      file_.classes.push_back(std::move(category.name));
    }
  }

  // Resolves ids to indices, leaves out invalid annotations and groups the others by image.
  void resolve_annotations() {
    std::vector<uint32_t> counts(file_.images.size() + 1);
    size_t kept = 0;
    for (RawAnnotation& raw : raw_) {
      try {
        resolve(raw);
        ++counts[raw.value.image + 1];
        raw_[kept++] = raw;
      } catch (const Wrong& wrong) {
        file_.problems.add(fmt::format("{}: {}", file_.location(raw.value), wrong.why));
      }
    }
    std::partial_sum(counts.begin(), counts.end(), counts.begin());
    file_.first = counts;
    file_.annotations.resize(kept);
    for (size_t i = 0; i < kept; ++i) {
      file_.annotations[counts[raw_[i].value.image]++] = raw_[i].value;
    }
  }

  void resolve(RawAnnotation& raw) {
    const auto image = image_indices_.find(raw.image_id);
    if (image == image_indices_.end()) {
      throw Wrong{
          fmt::format("it belongs to the image {}, which is not among the images", raw.image_id)};
    }
    const auto category = std::ranges::lower_bound(file_.category_ids, raw.category_id);
    if (category == file_.category_ids.end() || *category != raw.category_id) {
      throw Wrong{fmt::format("it is of the category {}, which is not among the categories",
                              raw.category_id)};
    }
    CocoAnnotation& value = raw.value;
    value.image = image->second;
    value.label = static_cast<int32_t>(category - file_.category_ids.begin());
    const CocoImage& of = file_.images[value.image];
    const Box& box = value.box;
    if (!(box.x2 > box.x1 && box.y2 > box.y1)) {
      throw Wrong{fmt::format("a box of {} by {} pixels, expected more than none", box.width(),
                              box.height())};
    }
    const bool overlaps = std::min(box.x2, static_cast<float>(of.width)) > std::max(box.x1, 0.0f) &&
                          std::min(box.y2, static_cast<float>(of.height)) > std::max(box.y1, 0.0f);
    if (!overlaps) {
      throw Wrong{fmt::format("its box from {}, {} to {}, {} lies outside of its image of {}x{}",
                              box.x1, box.y1, box.x2, box.y2, of.width, of.height)};
    }
    if (value.segmentation == 0) return;
    JsonReader json(file_.name, file_.text, value.segmentation);
    const bool there =
        read_segmentation(json, file_.name, of.width, of.height, nullptr).has_value();
    if (!there) value.segmentation = 0;
  }

  CocoFile file_;
  JsonReader json_;
  std::vector<Category> categories_;
  std::vector<RawAnnotation> raw_;
  std::unordered_map<int64_t, uint32_t> image_indices_;
};

}  // namespace

std::string CocoFile::location(const CocoAnnotation& annotation) const {
  return fmt::format("{}: annotation {}", name, annotation.id);
}

Mask CocoFile::mask(const CocoAnnotation& annotation, MaskWork& work) const {
  if (annotation.segmentation == 0) return {};
  const CocoImage& image = images[annotation.image];
  try {
    JsonReader json(name, text, annotation.segmentation);
    return read_segmentation(json, location(annotation), image.width, image.height, &work)
        .value_or(Mask());
  } catch (const Wrong& wrong) {
    fail("{}: {}", location(annotation), wrong.why);
  }
}

CocoFile parse_coco(const std::string& name, std::string_view text) {
  return CocoParser(name, text).parse();
}

}  // namespace vig
