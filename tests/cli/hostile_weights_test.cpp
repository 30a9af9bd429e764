// Weight files of at most 10 MB that ask for much: processed or refused in seconds and a gigabyte
// by every command that reads them.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "cli/vig.h"
#include "support/zip_bytes.h"
#include "vig/models/family.h"
#include "weights/torch_bytes.h"

namespace vig::test {
namespace {

using namespace std::string_literals;

constexpr size_t kLargest = 10'000'000;
constexpr uint64_t kGigabyte = uint64_t{1} << 30;
// Promised are 5 s of a machine that does nothing else; tests share theirs with others.
constexpr double kSeconds = 30;

std::string safetensors(const std::string& header) {
  return little_endian(header.size(), 8) + header;
}

template <typename Part>
std::string fill(std::string text, const Part& part) {
  for (size_t i = 0; text.size() < kLargest - 100'000; ++i) text += part(i);
  return text;
}

// All commands, none of which may take long or end in anything but a result or one sentence.
void expect_bounded(const TempDir& folder, const std::string& bytes, const std::string& name) {
  SCOPED_TRACE(name);
  ASSERT_LE(bytes.size(), kLargest);
  const std::string file = (folder / name).string();
  write_file(file, bytes);
  const std::string out = (folder / "out.safetensors").string();
  const std::vector<std::vector<std::string>> commands = {
      {"info", file},
      {"convert", file, out, "--force"},
      {"classify", "-m", file, data("image/photos/flower.webp")},
      {"verify", file}};
  for (const std::vector<std::string>& command : commands) {
    SCOPED_TRACE(command[0]);
    const RunResult result = vig(command, {.time_limit = kSeconds});
    EXPECT_LT(result.peak_bytes, kGigabyte);
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 1) << result.exit_code << result.err;
    if (result.exit_code == 1) {
      EXPECT_NE(result.err.find(name), std::string::npos) << result.err;
    }
    EXPECT_LT(result.err.size(), 10'000u);
  }
}

TEST(HostileWeights, SafetensorsHeaders) {
  const TempDir folder;
  const auto number = [](size_t i) { return std::to_string(i); };
  expect_bounded(folder,
                 safetensors(fill(R"({"__metadata__":{"x":"")",
                                  [&](size_t i) { return ",\"" + number(i) + "\":\"\""; }) +
                             "}}"),
                 "keys.safetensors");
  const auto empty = [&](size_t i) {
    return (i == 0 ? "\"" : ",\"") + number(i) +
           R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  };
  expect_bounded(folder, safetensors(fill("{", empty) + "}"), "tensors.safetensors");
  std::string most = "{";
  for (size_t i = 0; i < 100'000; ++i) most += empty(i);
  expect_bounded(folder, safetensors(most + "}"), "most.safetensors");
  expect_bounded(folder, safetensors("{\"" + std::string(9'000'000, 'x') + "\":{}}"),
                 "name.safetensors");
  expect_bounded(folder, safetensors("{\"a\":" + std::string(9'000'000, '[')), "deep.safetensors");
  expect_bounded(folder, safetensors("{\"a\":{\"shape\":[" + std::string(9'000'000, '9') + "]}}"),
                 "number.safetensors");
  expect_bounded(folder,
                 safetensors(R"({"__metadata__":{"vig.arch":"vig_t","vig.classes":"[)" +
                             std::string(4'000'000, '[') + R"("}})"),
                 "classes.safetensors");
  expect_bounded(
      folder,
      safetensors(fill(R"({"__metadata__":{"vig.arch":"vig_t","vig.overrides":"{\"a\":1)",
                       [&](size_t i) { return ",\\\"" + number(i) + "\\\":1"; }) +
                  R"(}"}})"),
      "overrides.safetensors");
}

TEST(HostileWeights, Pickles) {
  const TempDir folder;
  const auto zip = [](const std::string& pickle) { return torch_zip(pickle, {}); };
  constexpr size_t kMany = 9'900'000;
  expect_bounded(folder, zip("N"s + std::string(kMany, '\x94') + "."), "memo.pth");
  expect_bounded(folder,
                 zip(fill("N",
                          [](size_t i) {
                            // Slots that collide in a hash table of 712697 buckets.
                            return "p" + std::to_string(i * 712697) + "\n";
                          }) +
                     "."),
                 "slots.pth");
  expect_bounded(folder, zip(std::string(kMany, 'N') + "."), "values.pth");
  expect_bounded(folder, zip("N"s + std::string(kMany, '2') + "."), "copies.pth");
  expect_bounded(folder, zip(std::string(kMany, ']') + "."), "lists.pth");
  expect_bounded(folder, zip(")"s + std::string(kMany, '\x85') + "."), "tuples.pth");
  expect_bounded(
      folder, zip(fill("]", [](size_t) { return "(N"s + std::string(90'000, '2') + "e"; }) + "."),
      "references.pth");
  expect_bounded(folder, zip("X" + little_endian(kMany, 4) + std::string(kMany, 'x') + "."),
                 "text.pth");
  expect_bounded(folder, zip("I" + std::string(kMany, '9') + "\n."), "number.pth");
  // One tensor under many names, and many dictionaries under one.
  PickleBytes names;
  names.tensor("FloatStorage", "0", 1, 0, {1}, {1}).raw("q\x01"s + "0}(");
  for (int i = 0; i < 700'000; ++i) names.text(std::to_string(i)).raw("h\x01"s);
  expect_bounded(folder, torch_zip(names.raw("u").stop(), {{"0", "abcd"}}), "names.pth");
  // The older container: five pickles in a row, each as large as it may be.
  const std::string magic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s;
  const std::string large = "]("s + std::string(900'000, 'N') + "e.";
  expect_bounded(folder, magic + "\x80\x02M\xe9\x03."s + large + large + large, "legacy.pth");
}

TEST(HostileWeights, ZipDirectories) {
  const TempDir folder;
  // Every entry of the directory points at one offset.
  const std::string local = zip_archive({{"a/data.pkl", "N."}}).substr(0, 42);
  std::string directory;
  size_t count = 0;
  for (; directory.size() < kLargest - 1000; ++count) {
    const std::string name = "a/data/" + std::to_string(count);
    directory += "PK\x01\x02\x14\x00\x14\x00"s + std::string(20, '\0') +
                 little_endian(name.size(), 2) + std::string(16, '\0') + name;
  }
  const std::string end = "PK\x05\x06"s + std::string(4, '\0') + little_endian(count % 65536, 2) +
                          little_endian(count % 65536, 2) + little_endian(directory.size(), 4) +
                          little_endian(local.size(), 4) + std::string(2, '\0');
  expect_bounded(folder, local + directory + end, "entries.pth");
}

// A file that is a network: its weights fit, and what it asks for is large.
std::string network(const std::map<std::string, std::string>& fields, int crop) {
  ModelSpec spec = find_model("vig_t");
  override_fields(spec, fields);
  const Graph graph = build_graph(spec, crop, crop);
  std::string overrides, header, bytes;
  for (const auto& [field, value] : fields) {
    overrides += (overrides.empty() ? "" : ",") + ("\\\"" + field + "\\\":\\\"" + value + "\\\"");
  }
  header = R"({"__metadata__":{"vig.arch":"vig_t","vig.overrides":"{)" + overrides +
           R"(}","vig.recipe":"{\"resize\":)" + std::to_string(crop) + R"(,\"crop\":)" +
           std::to_string(crop) +
           R"(,\"interpolation\":\"bicubic\",\"mean\":[0,0,0],\"std\":[1,1,1]}"})";
  for (const ParamSpec& param : graph.params) {
    const size_t begin = bytes.size();
    bytes.append(static_cast<size_t>(param.shape.elements()) * 2, '\x10');
    header += fmt::format(R"(,"{}":{{"dtype":"F16","shape":[{}],"data_offsets":[{},{}]}})",
                          param.name, fmt::join(param.shape.sizes(), ","), begin, bytes.size());
  }
  return safetensors(header + "}") + bytes;
}

TEST(HostileWeights, Networks) {
  const TempDir folder;
  expect_bounded(folder, network({{"embed_dim", "64"}, {"heads", "1"}, {"depth", "4"}}, 8192),
                 "large.safetensors");
  expect_bounded(folder,
                 network({{"embed_dim", "64"},
                          {"heads", "1"},
                          {"depth", "40"},
                          {"patch_size", "4"},
                          {"image_size", "64"}},
                         2048),
                 "slow.safetensors");
  expect_bounded(folder, network({{"embed_dim", "2"}, {"heads", "1"}, {"depth", "256"}}, 64),
                 "deep.safetensors");
  expect_bounded(
      folder,
      network({{"embed_dim", "2"}, {"heads", "1"}, {"depth", "1"}, {"classes", "500000"}}, 64),
      "classes.safetensors");
}

}  // namespace
}  // namespace vig::test
