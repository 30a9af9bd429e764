#include "vig/weights/safetensors.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>

#include "support/errors.h"
#include "support/files.h"
#include "support/tree.h"
#include "vig/base/mapped_file.h"
#include "vig/weights/elements.h"
#include "weights/memory_file.h"
#include "weights/torch_bytes.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

const fs::path kBroken = fs::path(kFixtures) / "weights" / "broken";

std::string with_header(const std::string& header, const std::string& data = "") {
  return little_endian(header.size(), 8) + header + data;
}

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(SafeTensors, EveryBrokenFileIsRefusedByName) {
  int refused = 0;
  for (const auto& entry : fs::directory_iterator(kBroken)) {
    const std::string name = entry.path().filename().string();
    if (name == "nan_inf_values.safetensors" || name == "scalar_and_empty.safetensors") continue;
    SCOPED_TRACE(name);
    const std::string message = error_of([&] { SafeTensors::open(entry.path()); });
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    ++refused;
  }
  EXPECT_EQ(refused, 16);
}

TEST(SafeTensors, NanAndInfinityAreValues) {
  const SafeTensors file = SafeTensors::open(kBroken / "nan_inf_values.safetensors");
  EXPECT_FALSE(file.tensors().empty());
}

TEST(SafeTensors, ScalarAndEmptyTensors) {
  const SafeTensors file = SafeTensors::open(kBroken / "scalar_and_empty.safetensors");
  ASSERT_EQ(file.tensors().size(), 2u);
  int64_t elements = 0;
  for (const NamedTensor& tensor : file.tensors()) {
    elements += tensor.view.shape.elements();
    EXPECT_EQ(to_floats(tensor.view).size(), static_cast<size_t>(tensor.view.shape.elements()));
  }
  EXPECT_EQ(elements, 1);
}

// Headers that a careful reader must not accept, with a word its message must hold.
TEST(SafeTensors, HeaderRules) {
  const TempDir dir;
  const std::string path = dir / "x.safetensors";
  const std::string four(4, '\0');
  const std::pair<std::string, std::string> cases[] = {
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "begins at"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}})", "expected 2"},
      {R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "fraction"},
      {R"({"a":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,4]}})", "fraction"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", "63 bits"},
      {R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", "array"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", "lacks"},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "twice"},
      {R"({"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", "twice"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}})", "unknown"},
      {R"({"a":[1]})", "object"},
      {R"({"a":{"dtype":1,"shape":[1],"data_offsets":[0,4]}})", "number"},
      {R"({"__metadata__":{"k":1},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "text"},
      {R"({"__metadata__":{"k":"v","k":"w"}})", "twice"},
      {R"({"__metadata__":{"k":{"l":"m"}}})", "object"},
      {R"({"__metadata__":[]})", "array"},
      {R"({"a":null})", "null"},
      {R"({} {})", "JSON"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})", "JSON"},
      {"{\"\xff\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "JSON"},
      {R"({})", "expected 0 bytes"},
      {R"({"a\u001b[2J":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", "\\x1b[2J"},
  };
  for (const auto& [header, word] : cases) {
    SCOPED_TRACE(header);
    write_file(path, with_header(header, header.find("[4,8]") == header.npos ? four : four + four));
    const std::string message = error_of([&] { SafeTensors::open(path); });
    EXPECT_NE(message.find(word), std::string::npos) << message;
  }
}

std::vector<NamedTensor> sample(std::vector<int64_t>& longs, std::vector<float>& floats,
                                std::vector<uint8_t>& flags) {
  longs = {-1, std::numeric_limits<int64_t>::max()};
  floats = {1.5f, -2.0f, 0.0f, 3.25f, 5.0f, -0.5f};
  flags = {1, 0, 1};
  return {{"flags", {flags.data(), DType::kBool, {3}}},
          {"größe \"x\"", {floats.data(), DType::kF32, {2, 3}}},
          {"longs", {longs.data(), DType::kI64, {2}}},
          {"empty", {nullptr, DType::kF16, {0, 7}}},
          {"scalar", {floats.data() + 3, DType::kF32, {}}}};
}

TEST(SafeTensors, RoundTripKeepsOrderBytesAndMetadata) {
  const TempDir dir;
  const std::string path = dir / "x.safetensors";
  std::vector<int64_t> longs;
  std::vector<float> floats;
  std::vector<uint8_t> flags;
  const auto tensors = sample(longs, floats, flags);
  const Metadata metadata = {{"format", "pt"}, {"note", "line\n\"quoted\" ü"}};
  write_safetensors(path, tensors, metadata);
  EXPECT_EQ(files_in(dir.path()), 1u);  // no temporary is left

  const SafeTensors file = SafeTensors::open(path);
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const NamedTensor& read = file.tensors()[i];
    EXPECT_EQ(read.name, tensors[i].name);
    EXPECT_EQ(read.view.shape, tensors[i].view.shape);
    ASSERT_EQ(read.view.dtype, tensors[i].view.dtype);
    if (read.view.bytes() == 0) continue;
    EXPECT_EQ(std::memcmp(read.view.data, tensors[i].view.data, read.view.bytes()), 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(read.view.data) % dtype_size(read.view.dtype), 0u);
  }
  const auto begins = reinterpret_cast<uintptr_t>(file.find("longs")->view.data);  // the widest
  EXPECT_EQ(begins % 64, 0u);
  EXPECT_EQ(to_int64s(file.find("longs")->view), longs);
  EXPECT_EQ(to_int64s(file.find("flags")->view), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(file.find("absent"), nullptr);
}

TEST(SafeTensors, TheMappingOutlivesTheFileAndTheReader) {
  const TempDir dir;
  const std::string path = dir / "x.safetensors";
  const std::vector<float> values = {1, 2, 3};
  write_safetensors(path, std::vector<NamedTensor>{{"a", {values.data(), DType::kF32, {3}}}});
  std::shared_ptr<const void> mapping;
  TensorView view;
  {
    const SafeTensors file = SafeTensors::open(path);
    mapping = file.owner();
    view = file.tensors()[0].view;
  }
  fs::remove(path);
  EXPECT_EQ(to_floats(view), values);
}

TEST(SafeTensors, UnalignedTensorsAreReadByCopy) {
  const TempDir dir;
  const std::string path = dir / "x.safetensors";
  const std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("b":{"dtype":"I64","shape":[1],"data_offsets":[1,9]},)"
                             R"("c":{"dtype":"F64","shape":[1],"data_offsets":[9,17]}})";
  const double half = 0.5;
  std::string raw(8, '\0');
  std::memcpy(raw.data(), &half, 8);
  write_file(path,
             with_header(header, std::string("\x07") + little_endian(0x0102030405060708, 8) + raw));
  const SafeTensors file = SafeTensors::open(path);
  EXPECT_EQ(to_int64s(file.find("a")->view)[0], 7);
  EXPECT_EQ(to_int64s(file.find("b")->view)[0], 0x0102030405060708);
  EXPECT_EQ(to_floats(file.find("c")->view)[0], 0.5f);
  EXPECT_NE(error_of([&] { to_int64s(file.find("c")->view); }).find("F64"), std::string::npos);
}

std::string sample_bytes() {
  const TempDir dir;
  std::vector<int64_t> longs;
  std::vector<float> floats;
  std::vector<uint8_t> flags;
  write_safetensors(dir / "x.safetensors", sample(longs, floats, flags), {{"k", "v"}});
  return read_file(dir / "x.safetensors");
}

TEST(SafeTensors, CutAnywhereItIsRefused) {
  const std::string bytes = sample_bytes();
  MemoryFile file;
  for (size_t length = 0; length < bytes.size(); ++length) {
    file.write(std::string_view(bytes).substr(0, length));
    EXPECT_FALSE(survives([&] { SafeTensors::open(file.path()); })) << length;
  }
  file.write(bytes);
  EXPECT_TRUE(survives([&] { SafeTensors::open(file.path()); }));
  file.write(bytes + "x");
  EXPECT_FALSE(survives([&] { SafeTensors::open(file.path()); }));
}

TEST(SafeTensors, NoFlippedBitCrashes) {
  const std::string whole = sample_bytes();
  MemoryFile file;
  flip_every_bit(whole, whole.size(), [&](const std::string& bytes) {
    file.write(bytes);
    survives([&] {
      const SafeTensors read = SafeTensors::open(file.path());
      for (const NamedTensor& tensor : read.tensors()) to_floats(tensor.view);
    });
  });
}

TEST(SafeTensorsWrite, RefusesNamesThatCouldNotBeReadBack) {
  const TempDir dir;
  const std::string path = dir / "x.safetensors";
  const float value = 1;
  const TensorView view{&value, DType::kF32, {1}};
  using List = std::vector<NamedTensor>;
  EXPECT_FALSE(survives([&] { write_safetensors(path, List{{"a", view}, {"a", view}}); }));
  EXPECT_FALSE(survives([&] { write_safetensors(path, List{{"__metadata__", view}}); }));
  EXPECT_FALSE(survives([&] { write_safetensors(path, List{{"\xff", view}}); }));
  EXPECT_FALSE(survives([&] { write_safetensors(path, List{}, {{"k", "\xff"}}); }));
  const std::string long_text(SafeTensors::kMaxHeader, 'x');
  EXPECT_FALSE(survives([&] { write_safetensors(path, List{}, {{"k", long_text}}); }));
  EXPECT_EQ(files_in(dir.path()), 0u);
}

TEST(SafeTensorsWrite, UnwritablePathsAreOneSentence) {
  const TempDir dir;
  const std::string missing = dir / "no" / "such" / "x.safetensors";
  EXPECT_NE(error_of([&] { write_safetensors(missing, {}); }).find(missing), std::string::npos);
  EXPECT_FALSE(survives([&] { write_safetensors(dir.path(), {}); }));
  // A device is not replaced by a file.
  const std::string fifo = dir / "pipe";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(survives([&] { write_safetensors(fifo, {}); }));
  EXPECT_TRUE(fs::is_fifo(fifo));
  EXPECT_FALSE(survives([&] { SafeTensors::open(fifo); }));
}

TEST(SafeTensorsWrite, WhenTheDiskIsFullTheOldFileStays) {
  const TempDir dir;
  const std::string path = dir / "x.safetensors";
  write_file(path, "old");
  const std::vector<float> values(100'000, 1.0f);
  const std::vector<NamedTensor> tensors = {{"a", {values.data(), DType::kF32, {100'000}}}};

  // A limit on file sizes stands for the full disk: write() fails halfway.
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{100'000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = error_of([&] { write_safetensors(path, tensors); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);

  EXPECT_NE(message.find(path), std::string::npos) << message;
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(dir.path()), 1u);
}

TEST(SafeTensorsWrite, ASymbolicLinkStaysALink) {
  const TempDir dir;
  const std::string target = dir / "target.safetensors";
  const std::string link = dir / "link.safetensors";
  write_file(target, "old");
  fs::create_symlink(target, link);
  write_safetensors(link, {});
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(SafeTensors::open(target).tensors().empty());
  // A link to a link, relative ones, and the file is made by writing.
  fs::create_directories(dir / "below");
  fs::create_symlink("below/second", dir / "first");
  fs::create_symlink("../made.safetensors", dir / "below/second");
  write_safetensors(dir / "first", {});
  EXPECT_TRUE(fs::is_symlink(dir / "first"));
  EXPECT_TRUE(fs::is_symlink(dir / "below/second"));
  EXPECT_TRUE(SafeTensors::open(dir / "made.safetensors").tensors().empty());
  fs::create_symlink("circle", dir / "circle");
  EXPECT_NE(error_of([&] { write_safetensors(dir / "circle", {}); }).find("symbolic links"),
            std::string::npos);
  EXPECT_TRUE(fs::is_symlink(dir / "circle"));
}

TEST(MappedFile, AbsentFilesAndFoldersAreNamed) {
  const TempDir dir;
  const std::string missing = dir / "missing.safetensors";
  EXPECT_NE(error_of([&] { MappedFile::open(missing); }).find(missing), std::string::npos);
  EXPECT_NE(error_of([&] { MappedFile::open(dir.path()); }).find("folder"), std::string::npos);
}

}  // namespace
}  // namespace vig::test
