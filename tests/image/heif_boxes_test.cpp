// The tables of HEIF files in every version that writers use, and what points outside of them.
#include "vig/image/heif_boxes.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "image/heif_bytes.h"
#include "support/errors.h"

namespace vig::test {
namespace {

const std::string kName = "x";  // outlives every reader
const std::string kDamaged = "x: damaged HEIC or AVIF: ";
const std::string kStart = box("ftyp", "avif" + big_endian(0, 4)) + box("mdat", "0123456789");
constexpr uint64_t kDataAt = 24;
const std::string kPrimary = full_box("pitm", big_endian(1, 2));

std::string file_of(const std::string& boxes) {
  return kStart + full_box("meta", kPrimary + boxes);
}

HeifBoxes open(const std::string& file) {
  return {{reinterpret_cast<const uint8_t*>(file.data()), file.size()}, kName};
}

std::string refusal(const std::string& file) {
  return error_of([&] { open(file); });
}

struct Extent {
  uint64_t offset, length;
};

// A box iloc of one item, and how wide its fields are.
struct Location {
  int version = 0;
  int offset_size = 4, length_size = 4, base_size = 4, index_size = 0;
  uint64_t method = 0, base = kDataAt;
  std::vector<Extent> extents = {};

  std::string box() const {
    const int id_size = version < 2 ? 2 : 4;
    std::string text = big_endian(
        static_cast<uint64_t>(offset_size << 12 | length_size << 8 | base_size << 4 | index_size),
        2);
    text += big_endian(1, id_size) + big_endian(1, id_size);
    if (version > 0) text += big_endian(method, 2);
    text += big_endian(0, 2) + big_endian(base, base_size) + big_endian(extents.size(), 2);
    for (const Extent& extent : extents) {
      if (version > 0) text += big_endian(5, index_size);
      text += big_endian(extent.offset, offset_size) + big_endian(extent.length, length_size);
    }
    return full_box("iloc", text, static_cast<uint64_t>(version));
  }
};

// The data of item 1, its parts one after the other with a space between.
std::string data_of(const Location& location) {
  const std::string file = file_of(location.box() + test::box("idat", "abcdef"));
  const HeifBoxes boxes = open(file);
  std::string text;
  for (const auto& part : boxes.item_data(1)) text += (text.empty() ? "" : " ") + text_of(part);
  return text;
}

TEST(HeifBoxes, DataIsFoundInEveryVersion) {
  for (const int version : {0, 1, 2}) {
    for (const int wide : {4, 8}) {
      for (const int index : {0, 4, 8}) {
        if (version == 0 && index > 0) continue;
        SCOPED_TRACE(testing::Message() << version << " " << wide << " " << index);
        Location location = {.version = version, .index_size = index};
        location.extents = {{2, 3}, {7, 1}, {0, 2}};
        location.offset_size = wide;
        EXPECT_EQ(data_of(location), "234 7 01");
        location.length_size = wide;
        location.base_size = 12 - wide;
        EXPECT_EQ(data_of(location), "234 7 01");
        location.base_size = 0;
        for (Extent& extent : location.extents) extent.offset += kDataAt;
        EXPECT_EQ(data_of(location), "234 7 01");
      }
    }
  }
  Location inside = {.version = 1, .method = 1, .base = 1};
  inside.extents = {{0, 2}, {3, 0}};  // without a length: to the end
  EXPECT_EQ(data_of(inside), "bc ef");
}

TEST(HeifBoxes, DataLiesInsideOfItsSource) {
  const auto error = [](const Location& location) { return error_of([&] { data_of(location); }); };
  // Of the six bytes of idat.
  Location location = {.version = 1, .offset_size = 8, .length_size = 8, .base_size = 8};
  location.method = 1;
  for (const auto& [base, offset, length] :
       std::vector<std::array<uint64_t, 3>>{{7, 0, 0},
                                            {3, 4, 0},
                                            {0, 0, 7},
                                            {2, 2, 3},
                                            {UINT64_MAX, 1, 1},
                                            {1, UINT64_MAX, 1},
                                            {1, 1, UINT64_MAX}}) {
    location.base = base;
    location.extents = {{offset, length}};
    EXPECT_EQ(error(location), kDamaged + "the data of item 1 ends after the file");
  }
  location.base = 0;
  location.extents = {{0, 3}, {0, 3}};
  EXPECT_EQ(data_of(location), "abc abc");
  // Thousands of extents may name the same bytes.
  location.extents = {{0, 3}, {0, 3}, {0, 1}};
  EXPECT_EQ(error(location), kDamaged + "the data of item 1 overlaps itself");
  location.extents = {{0, 0}, {5, 0}};
  EXPECT_EQ(error(location), kDamaged + "the data of item 1 overlaps itself");
  location.method = 2;
  EXPECT_EQ(error(location),
            "x: the data of item 1 is inside another item, which is not supported");

  EXPECT_EQ(error({.version = 3}), kDamaged + "a box iloc of version 3");
  EXPECT_EQ(error({.offset_size = 2}), kDamaged + "positions of 2 bytes");
  EXPECT_EQ(error({.length_size = 1}), kDamaged + "positions of 1 bytes");
  EXPECT_EQ(error({.base_size = 9}), kDamaged + "positions of 9 bytes");
  EXPECT_EQ(error({.version = 1, .index_size = 3}), kDamaged + "positions of 3 bytes");
  const std::string none = file_of("");
  EXPECT_EQ(error_of([&] { open(none).item_data(7); }), kDamaged + "the data of item 7 is missing");
}

TEST(HeifBoxes, ItemsOfEveryVersion) {
  const auto entry = [](uint64_t version, uint64_t id, const std::string& type) {
    return full_box("infe", big_endian(id, version == 2 ? 2 : 4) + big_endian(0, 2) + type + '\0',
                    version);
  };
  // The first mention counts; entries of old versions have no type.
  const std::string entries = full_box("infe", big_endian(1, 2), 0) + entry(2, 1, "av01") +
                              entry(3, 70000, "hvc1") + entry(2, 1, "grid");
  for (const uint64_t version : {0, 1}) {
    const std::string count = big_endian(4, version == 0 ? 2 : 4);
    const std::string file = file_of(full_box("iinf", count + entries, version));
    const HeifBoxes boxes = open(file);
    EXPECT_EQ(boxes.item_type(1), box_tag("av01"));
    EXPECT_EQ(boxes.item_type(70000), box_tag("hvc1"));
    EXPECT_EQ(error_of([&] { boxes.item_type(2); }), kDamaged + "item 2 is missing");
  }
  EXPECT_EQ(open(file_of("")).primary(), 1u);
  const std::string wide = kStart + full_box("meta", full_box("pitm", big_endian(70000, 4), 1));
  EXPECT_EQ(open(wide).primary(), 70000u);
}

TEST(HeifBoxes, PropertiesOfEveryVersion) {
  const std::string list = box("ipco", box("aaaa", "1") + box("bbbb", "22") + box("cccc", ""));
  for (const uint64_t version : {0, 1}) {
    for (const uint64_t wide : {0, 1}) {
      SCOPED_TRACE(testing::Message() << version << " " << wide);
      const auto associated = [&](const std::vector<uint64_t>& properties) {
        const uint64_t essential = wide != 0 ? 0x8000 : 0x80;
        std::string text = big_endian(version << 24 | wide, 4) + big_endian(2, 4);
        const int id_size = version == 0 ? 2 : 4;
        text += big_endian(5, id_size) + big_endian(0, 1);
        text += big_endian(1, id_size) + big_endian(properties.size(), 1);
        for (const uint64_t number : properties) {
          text += big_endian(number | essential, wide != 0 ? 2 : 1);
        }
        return file_of(box("iprp", list + box("ipma", text)));
      };
      const std::string file = associated({3, 0, 1});
      const HeifBoxes boxes = open(file);
      const auto found = boxes.properties_of(1);
      ASSERT_EQ(found.size(), 2u);
      EXPECT_EQ(found[0].type, box_tag("cccc"));
      EXPECT_EQ(found[1].type, box_tag("aaaa"));
      EXPECT_EQ(text_of(found[1].contents), "1");
      EXPECT_TRUE(boxes.properties_of(5).empty());
      EXPECT_TRUE(boxes.properties_of(6).empty());
      const std::string bad = associated({4});
      EXPECT_EQ(error_of([&] { open(bad).properties_of(1); }), kDamaged + "property 4 is missing");
    }
  }
  std::string many;
  for (int i = 0; i < 10000; ++i) many += box("aaaa", "");
  EXPECT_EQ(open(file_of(box("iprp", box("ipco", many)))).primary(), 1u);
  EXPECT_EQ(refusal(file_of(box("iprp", box("ipco", many + box("aaaa", ""))))),
            kDamaged + "more than 10000 properties (a fixed limit)");
}

TEST(HeifBoxes, SourcesOfEveryVersion) {
  for (const uint64_t version : {0, 1}) {
    const int size = version == 0 ? 2 : 4;
    const auto reference = [&](const std::string& type, uint64_t from,
                               const std::vector<uint64_t>& to) {
      std::string text = big_endian(from, size) + big_endian(to.size(), 2);
      for (const uint64_t id : to) text += big_endian(id, size);
      return box(type, text);
    };
    const std::string file = file_of(full_box(
        "iref",
        reference("thmb", 1, {8}) + reference("dimg", 2, {9}) + reference("dimg", 1, {4, 3, 4}),
        version));
    EXPECT_EQ(open(file).sources_of(1), (std::vector<uint32_t>{4, 3, 4}));
    EXPECT_EQ(open(file).sources_of(2), std::vector<uint32_t>{9});
    EXPECT_TRUE(open(file).sources_of(3).empty());
  }
  EXPECT_TRUE(open(file_of("")).sources_of(1).empty());
}

TEST(HeifBoxes, BoxesOfEverySize) {
  const std::string contents = big_endian(0, 4) + kPrimary;
  const std::string wide =
      big_endian(1, 4) + "meta" + big_endian(contents.size() + 16, 8) + contents;
  EXPECT_EQ(open(kStart + wide).primary(), 1u);
  EXPECT_EQ(open(wide + kStart).primary(), 1u);
  EXPECT_EQ(open(kStart + big_endian(0, 4) + "meta" + contents).primary(), 1u);  // to the end

  EXPECT_EQ(refusal(kStart + big_endian(7, 4) + "meta" + contents), kDamaged + "a box of 7 bytes");
  EXPECT_EQ(refusal(kStart + big_endian(1, 4) + "meta" + big_endian(15, 8) + contents),
            kDamaged + "a box of 15 bytes");
  EXPECT_EQ(refusal(kStart + big_endian(contents.size() + 9, 4) + "meta" + contents),
            kDamaged + "the file ends early, 1 bytes are missing");
  EXPECT_EQ(refusal(kStart), kDamaged + "there is no box meta");
  EXPECT_EQ(refusal(kStart + full_box("meta", "")), kDamaged + "no primary image is named");
}

}  // namespace
}  // namespace vig::test
