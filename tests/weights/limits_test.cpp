// Small files that ask for much: each is refused by a limit that the message names.
#include <filesystem>
#include <set>
#include <string>

#include "support/errors.h"
#include "support/files.h"
#include "vig/base/zip.h"
#include "vig/weights/checkpoint.h"
#include "vig/weights/pickle.h"
#include "vig/weights/safetensors.h"
#include "weights/torch_bytes.h"

namespace vig::test {
namespace {

using namespace std::string_literals;

std::span<const unsigned char> bytes_of(const std::string& text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

std::string pickle_refusal(const std::string& pickle) {
  return error_of([&] { Pickle::parse(bytes_of(pickle), "FILE"); });
}

std::string refusal(const std::string& file) {
  return error_of([&] { Checkpoint::from_bytes("FILE", bytes_of(file)); });
}

void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

std::string safetensors(const std::string& header) {
  return little_endian(header.size(), 8) + header;
}

std::string with_metadata(size_t keys) {
  std::string header = R"({"__metadata__":{)";
  for (size_t i = 0; i < keys; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":"")";
  }
  return safetensors(header + "}}");
}

std::string with_tensors(size_t count) {
  std::string header = "{";
  for (size_t i = 0; i < count; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
              R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  }
  return safetensors(header + "}");
}

TEST(Limits, PickleMemo) {
  // One opcode a slot.
  const std::string memoize = "N"s + std::string(60'000'000, '\x94') + ".";
  expect_in("stores more than 1000000 values for later (a fixed limit)", pickle_refusal(memoize));
  // Slots far apart, as a table of all up to them or one of hashes could not hold them.
  expect_in("1000000", pickle_refusal("Np18446744073709551615\n."));
  expect_in("1000000", pickle_refusal("Nr\xff\xff\xff\xff."s));
  const std::string last = "Np999999\ng999999\n\x86."s;
  EXPECT_EQ(Pickle::parse(bytes_of(last), "FILE").root().items.size(), 2u);
}

TEST(Limits, PickleMemoCountsWhatItHolds) {
  // Storing a slot again takes no new one: MEMOIZE takes slot 1, after two stores into slot 0.
  const std::string pickle = "K\x05q\x00q\x00K\x07\x94h\x01."s;
  EXPECT_EQ(Pickle::parse(bytes_of(pickle), "FILE").root().integer, 7);
}

TEST(Limits, PickleReferences) {
  // A list that is given one value half a million times, again and again, a byte for each.
  std::string pickle = "]";
  for (int i = 0; i < 9; ++i) pickle += "(N"s + std::string(500'000, '2') + "e";
  expect_in("holds more than 4000000 references (a fixed limit)", pickle_refusal(pickle + "."));
  // The same by tuples.
  pickle.clear();
  for (int i = 0; i < 9; ++i) pickle += "(N"s + std::string(500'000, '2') + "t0";
  expect_in("holds more than 4000000 references (a fixed limit)", pickle_refusal(pickle + "N."));
}

TEST(Limits, PickleValuesStackAndGroups) {
  expect_in("holds more than 1000000 values (a fixed limit)",
            pickle_refusal(std::string(1'000'001, 'N')));
  expect_in("piles up more than 1000000 values (a fixed limit)",
            pickle_refusal("N"s + std::string(1'000'000, '2')));
  expect_in("opens more than 1000000 groups (a fixed limit)",
            pickle_refusal(std::string(1'000'001, '(')));
}

TEST(Limits, SafetensorsMetadataKeys) {
  const std::string most = with_metadata(10'000), more = with_metadata(10'001);
  EXPECT_EQ(SafeTensors::from_bytes("FILE", bytes_of(most)).metadata().size(), 10'000u);
  EXPECT_EQ(refusal(more),
            "FILE: expected at most 10000 keys of metadata (a fixed limit), found more");
}

TEST(Limits, SafetensorsTensors) {
  const std::string most = with_tensors(100'000), more = with_tensors(100'001);
  const Checkpoint checkpoint = Checkpoint::from_bytes("FILE", bytes_of(most));
  EXPECT_EQ(checkpoint.tensors().size(), 100'000u);
  // Found by a search that does not visit each.
  for (size_t i = 0; i < 100'000; ++i) {
    ASSERT_EQ(checkpoint.find(std::to_string(i)), &checkpoint.tensors()[i]);
  }
  EXPECT_EQ(checkpoint.find("100000"), nullptr);
  EXPECT_EQ(checkpoint.find(""), nullptr);
  EXPECT_EQ(refusal(more), "FILE: expected at most 100000 tensors (a fixed limit), found more");
}

TEST(Limits, SafetensorsAxes) {
  const auto with_axes = [](int count) {
    std::string header = R"({"a":{"dtype":"F32","shape":[0)";
    for (int i = 1; i < count; ++i) header += ",1";
    return safetensors(header + R"(],"data_offsets":[0,0]}})");
  };
  const std::string most = with_axes(64);
  EXPECT_EQ(SafeTensors::from_bytes("FILE", bytes_of(most)).tensors()[0].view.shape.rank(), 64);
  EXPECT_EQ(refusal(with_axes(65)),
            "FILE: tensor \"a\" has more than 64 dimensions (a fixed limit) in its shape");
}

TEST(Limits, SafetensorsHeader) {
  const TempDir dir;
  const std::string path = dir / "x.safetensors";
  for (const size_t length : {size_t{100'000'000}, size_t{100'000'001}}) {
    SCOPED_TRACE(length);
    write_file(path, little_endian(length, 8) + "{");
    std::filesystem::resize_file(path, 8 + length);  // a hole, which takes no disk
    const std::string message = error_of([&] { SafeTensors::open(path); });
    EXPECT_EQ(
        message,
        length == 100'000'000
            ? path + ": header is not JSON at its byte 2"
            : path +
                  ": expected a safetensors header of at most 100000000 bytes (a fixed limit), "
                  "found one of 100000001");
  }
}

TEST(Limits, TheWriterKeepsToThoseOfTheReader) {
  const TempDir dir;
  const std::string path = dir / "x.safetensors";
  Metadata metadata;
  for (int i = 0; i < 10'001; ++i) metadata[std::to_string(i)] = "";
  expect_in("cannot be written", error_of([&] { write_safetensors(path, {}, metadata); }));
  metadata.erase("0");
  write_safetensors(path, {}, metadata);
  EXPECT_EQ(SafeTensors::open(path).metadata(), metadata);
  const std::vector<NamedTensor> tensors(100'001);
  expect_in("cannot be written", error_of([&] { write_safetensors(path, tensors, {}); }));
}

TEST(Limits, TorchTensors) {
  // One tensor under many names.
  const auto dict = [](int names) {
    PickleBytes pickle;
    pickle.tensor("FloatStorage", "0", 0, 0, {0}, {1}).raw("q\x01"s + "0}(");
    for (int i = 0; i < names; ++i) pickle.text(std::to_string(i)).raw("h\x01"s);
    return torch_zip(pickle.raw("u").stop(), {{"0", ""}});
  };
  const std::string most = dict(100'000);
  EXPECT_EQ(Checkpoint::from_bytes("FILE", bytes_of(most)).tensors().size(), 100'000u);
  EXPECT_EQ(refusal(dict(100'001)),
            "FILE: expected at most 100000 tensors (a fixed limit), found more");
}

TEST(Limits, TorchMessagesNameAFewKeys) {
  // Every other key is a number, which is not shown and must not be counted as shown.
  PickleBytes pickle;
  pickle.raw("}(");
  for (int i = 0; i < 1000; ++i) pickle.text("key").raw("NK\x01N"s);
  const std::string message = refusal(torch_zip(pickle.raw("u").stop(), {}));
  EXPECT_TRUE(message.ends_with(", ...")) << message;
  EXPECT_LT(message.size(), 300u);
}

TEST(Limits, ZipEntries) {
  const std::string archive = zip_archive({{"a", "1"}, {"b", "2"}, {"c", "3"}});
  EXPECT_EQ(read_zip_directory(bytes_of(archive), "FILE", 3).size(), 3u);
  EXPECT_EQ(error_of([&] { read_zip_directory(bytes_of(archive), "FILE", 2); }),
            "FILE: expected at most 2 entries in its zip directory (a fixed limit), found more");
}

// Entries without data, all at one offset: the directory alone takes bytes.
TEST(Limits, TorchZipEntries) {
  const std::string one = zip_archive({{"a", ""}});
  const size_t begin = one.find("PK\1\2"), end = one.find("PK\5\6");
  const auto many = [&](size_t count) {
    std::string archive = one.substr(0, begin);
    for (size_t i = 0; i < count; ++i) archive += one.substr(begin, end - begin);
    const size_t size = archive.size() - begin;
    return archive + one.substr(end, 10) + little_endian(count, 2) + little_endian(size, 4) +
           one.substr(end + 16);
  };
  EXPECT_EQ(
      refusal(many(500'001)),
      "FILE: expected at most 500000 entries in its zip directory (a fixed limit), found more");
  EXPECT_EQ(refusal(many(2)), "FILE: its zip directory names \"a\" twice");
}

TEST(Limits, StoredZipEntriesHaveOneSize) {
  for (const uint64_t claimed : {uint64_t{0}, uint64_t{3}}) {
    const std::string archive =
        zip_archive({{"a", "1"}, {.name = "b", .data = "22", .unpacked_size = claimed}});
    EXPECT_EQ(error_of([&] { read_zip_directory(bytes_of(archive), "FILE"); }),
              "FILE: broken zip archive: a stored entry has two sizes");
  }
}

TEST(Limits, ZipNamesThatOccurTwiceAreFoundAnywhere) {
  const std::string archive = zip_archive({{"b", "1"}, {"a", "2"}, {"c", "3"}, {"a", "4"}});
  EXPECT_EQ(error_of([&] { read_zip_directory(bytes_of(archive), "FILE"); }),
            "FILE: its zip directory names \"a\" twice");
}

}  // namespace
}  // namespace vig::test
