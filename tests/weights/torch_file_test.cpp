// PyTorch containers made by hand: tensors in every layout, and files that lie.
#include <sys/resource.h>

#include <string>

#include "support/errors.h"
#include "vig/weights/checkpoint.h"
#include "vig/weights/elements.h"
#include "weights/memory_file.h"
#include "weights/torch_bytes.h"

namespace vig::test {
namespace {

using namespace std::string_literals;

const std::string kSix = float_bytes({0, 1, 2, 3, 4, 5});

// {"a": tensor} over a float storage "0" of six elements.
std::string one_tensor(int64_t offset, const std::vector<int64_t>& sizes,
                       const std::vector<int64_t>& strides, int64_t numel = 6) {
  PickleBytes pickle;
  pickle.raw("}").text("a").tensor("FloatStorage", "0", numel, offset, sizes, strides);
  return pickle.raw("s").stop();
}

Checkpoint open_bytes(const std::string& bytes, bool prefer_ema = false) {
  MemoryFile file;
  file.write(bytes);
  return Checkpoint::open(file.path(), prefer_ema);
}

std::vector<float> values_of(const std::string& pickle) {
  const Checkpoint zip = open_bytes(torch_zip(pickle, {{"0", kSix}}));
  const Checkpoint legacy = open_bytes(torch_legacy(pickle, {{"0", kSix}}, 4));
  EXPECT_EQ(zip.format(), Checkpoint::Format::kTorchZip);
  EXPECT_EQ(legacy.format(), Checkpoint::Format::kTorchLegacy);
  const auto values = to_floats(zip.find("a")->view);
  EXPECT_EQ(to_floats(legacy.find("a")->view), values);
  return values;
}

std::string torch_refusal(const std::string& pickle, const Storages& storages = {{"0", kSix}}) {
  const std::string message = error_of([&] { open_bytes(torch_zip(pickle, storages)); });
  EXPECT_FALSE(survives([&] { open_bytes(torch_legacy(pickle, storages, 4)); }));
  return message;
}

TEST(TorchFile, Layouts) {
  using Floats = std::vector<float>;
  EXPECT_EQ(values_of(one_tensor(0, {2, 3}, {3, 1})), (Floats{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values_of(one_tensor(0, {3, 2}, {1, 3})), (Floats{0, 3, 1, 4, 2, 5}));  // transposed
  EXPECT_EQ(values_of(one_tensor(2, {2}, {1})), (Floats{2, 3}));
  EXPECT_EQ(values_of(one_tensor(1, {2, 1, 2}, {3, 99, 1})), (Floats{1, 2, 4, 5}));
  EXPECT_EQ(values_of(one_tensor(5, {}, {})), (Floats{5}));
  EXPECT_EQ(values_of(one_tensor(0, {0, 4}, {4, 1})), (Floats{}));
  EXPECT_EQ(values_of(one_tensor(3, {4}, {0})), (Floats{3, 3, 3, 3}));  // expanded
  // Strides of axes of size 1 mean nothing, however large.
  EXPECT_EQ(values_of(one_tensor(0, {1, 2, 1, 2}, {INT64_MAX, 1, INT64_MAX, 2})),
            (Floats{0, 2, 1, 3}));
}

TEST(TorchFile, ElementTypes) {
  const std::pair<std::string, DType> types[] = {
      {"DoubleStorage", DType::kF64}, {"FloatStorage", DType::kF32},
      {"HalfStorage", DType::kF16},   {"BFloat16Storage", DType::kBF16},
      {"LongStorage", DType::kI64},   {"IntStorage", DType::kI32},
      {"ShortStorage", DType::kI16},  {"CharStorage", DType::kI8},
      {"ByteStorage", DType::kU8},    {"BoolStorage", DType::kBool}};
  for (const auto& [type, dtype] : types) {
    PickleBytes pickle;
    pickle.raw("}").text("a").tensor(type, "0", 2, 0, {2}, {1}).raw("s");
    const std::string zeros(2 * dtype_size(dtype), '\0');
    const Checkpoint file = open_bytes(torch_zip(pickle.stop(), {{"0", zeros}}));
    EXPECT_EQ(file.tensors()[0].view.dtype, dtype);
    EXPECT_EQ(to_floats(file.tensors()[0].view), (std::vector<float>{0, 0}));
  }
}

TEST(TorchFile, ParametersAndSizes) {
  // _rebuild_parameter(tensor, True, OrderedDict()) with its size as torch.Size.
  PickleBytes pickle;
  pickle.raw("}").text("a").global("torch._utils", "_rebuild_parameter").raw("(");
  pickle.global("torch._utils", "_rebuild_tensor_v2").raw("(").storage("FloatStorage", "0", 6);
  pickle.integer(0).global("torch", "Size").tuple({6}).raw("\x85R").tuple({1}).raw("\x89NtR");
  pickle.raw("\x88").global("collections", "OrderedDict").raw(")RtRs");
  EXPECT_EQ(values_of(pickle.stop()), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(TorchFile, LegacyViewsOfAStorage) {
  PickleBytes pickle;
  pickle.raw("}").text("a").global("torch._utils", "_rebuild_tensor_v2").raw("((");
  pickle.text("storage").global("torch.cuda", "FloatStorage").text("0").text("cuda:0").integer(6);
  pickle.raw("(").text("1").integer(2).integer(3).raw("ttQ");  // elements 2, 3, 4
  pickle.integer(1).tuple({2}).tuple({1}).raw("\x89NtRs");
  EXPECT_EQ(values_of(pickle.stop()), (std::vector<float>{3, 4}));
}

// A view is a part of its storage, and a tensor a part of its view.
TEST(TorchFile, ViewsOutsideTheirStorageAreRefused) {
  const auto view = [](int64_t first, int64_t count, const std::vector<int64_t>& sizes) {
    PickleBytes pickle;
    pickle.raw("}").text("a").global("torch._utils", "_rebuild_tensor_v2").raw("((");
    pickle.text("storage").global("torch", "FloatStorage").text("0").text("cpu").integer(6);
    pickle.raw("(").text("1").integer(first).integer(count).raw("ttQ");
    return pickle.integer(0).tuple(sizes).tuple({1}).raw("\x89NtRs").stop();
  };
  EXPECT_EQ(values_of(view(4, 2, {2})), (std::vector<float>{4, 5}));
  EXPECT_EQ(values_of(view(6, 0, {0})), (std::vector<float>{}));
  EXPECT_TRUE(torch_refusal(view(4, 2, {3})).ends_with("\"a\" reaches beyond its storage"));
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{5, 2},
                                     {0, 7},
                                     {7, 0},
                                     {-1, 2},
                                     {2, -1},
                                     {INT64_MAX, 1},
                                     {1, INT64_MAX}}) {
    SCOPED_TRACE(testing::Message() << first << " " << count);
    EXPECT_TRUE(
        torch_refusal(view(first, count, {1})).ends_with("describes a storage in an unknown form"));
  }
}

TEST(TorchFile, TensorsOutsideTheirStorageAreRefused) {
  EXPECT_NE(torch_refusal(one_tensor(0, {7}, {1})).find("\"a\""), std::string::npos);
  torch_refusal(one_tensor(1, {2, 3}, {3, 1}));
  torch_refusal(one_tensor(6, {1}, {1}));
  torch_refusal(one_tensor(-1, {2}, {1}));
  torch_refusal(one_tensor(5, {2}, {-1}));
  torch_refusal(one_tensor(0, {-2}, {1}));
  torch_refusal(one_tensor(0, {2, 3}, {1}));
  torch_refusal(one_tensor(0, {2}, {INT64_MAX}));
  torch_refusal(one_tensor(INT64_MAX, {2}, {INT64_MAX}));
  torch_refusal(one_tensor(0, {3, 3}, {INT64_MAX, INT64_MAX}));
  torch_refusal(one_tensor(0, {INT64_MAX, INT64_MAX}, {0, 0}));
  torch_refusal(one_tensor(0, {int64_t{1} << 40}, {0}));  // a small storage expanded to 4 TB
  torch_refusal(one_tensor(0, {7}, {1}, 7));              // storage shorter than it says
  torch_refusal(one_tensor(0, {1}, {1}, INT64_MAX));
  torch_refusal(one_tensor(0, {1}, {1}, -1));
  torch_refusal(one_tensor(0, std::vector<int64_t>(100, 1), std::vector<int64_t>(100, 1)));
  torch_refusal(one_tensor(0, {6}, {1}), {});  // storage missing
}

TEST(TorchFile, ATensorGivenTwiceIsRefused) {
  PickleBytes pickle;
  pickle.raw("}(");
  for (int i = 0; i < 2; ++i) pickle.text("a").tensor("FloatStorage", "0", 6, 0, {6}, {1});
  EXPECT_TRUE(torch_refusal(pickle.raw("u").stop()).ends_with(": tensor \"a\" is given twice"));
}

TEST(TorchFile, OneStorageNamedByThousandsIsRefused) {
  const std::string storage(40'000, '\0');
  PickleBytes pickle;
  pickle.raw("}(");
  for (int i = 0; i < 2000; ++i) {
    pickle.text(std::to_string(i)).tensor("FloatStorage", "0", 10'000, 0, {100, 100}, {1, 100});
  }
  torch_refusal(pickle.raw("u").stop(), {{"0", storage}});
}

TEST(TorchFile, ForeignGlobalsAreNamedWithTheFile) {
  MemoryFile file;
  const std::string pickle =
      PickleBytes().global("posix", "system").raw("(").text("echo").raw("tR").stop();
  for (const std::string& bytes : {torch_zip(pickle, {}), torch_legacy(pickle, {}, 4)}) {
    file.write(bytes);
    const std::string message = error_of([&] { Checkpoint::open(file.path()); });
    EXPECT_NE(message.find("\"posix.system\""), std::string::npos) << message;
    EXPECT_NE(message.find(file.path()), std::string::npos) << message;
  }
}

TEST(TorchFile, DescriptionsOfAnotherShapeAreRefused) {
  for (const char* arguments : {"tRs", "NK\x01K\x01K\x01tRs", "K\x01QNNNtRs", ")QNNNtRs"}) {
    PickleBytes pickle;
    pickle.raw("}").text("a").global("torch._utils", "_rebuild_tensor_v2").raw("(").raw(arguments);
    torch_refusal(pickle.stop());
  }
  torch_refusal(PickleBytes().raw("N").stop());
  torch_refusal(PickleBytes().raw("}").stop());
  torch_refusal(PickleBytes().raw("}").text("model").raw("}s").stop());
  // A tensor that rebuilds itself from itself.
  torch_refusal(
      "}q\x00U\x01"
      "actorch._utils\n_rebuild_tensor_v2\n(h\x00h\x00h\x00h\x00tRs."s);
}

TEST(TorchZip, Zip64AndForeignEntries) {
  const std::string pickle = one_tensor(0, {6}, {1});
  const std::vector<ZipFile> files = {{.name = "x/data.pkl", .data = pickle, .zip64 = true},
                                      {.name = "x/data/0", .data = kSix, .zip64 = true},
                                      {.name = "x/byteorder", .data = "little"}};
  for (bool zip64_end : {false, true}) {
    const Checkpoint file = open_bytes(zip_archive(files, zip64_end));
    EXPECT_EQ(to_floats(file.find("a")->view), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  }
  auto big = files;
  big[2].data = "big";
  EXPECT_FALSE(survives([&] { open_bytes(zip_archive(big)); }));
  auto packed = files;
  packed[1].method = 8;
  EXPECT_NE(error_of([&] { open_bytes(zip_archive(packed)); }).find("compressed"),
            std::string::npos);
  auto twice = files;
  twice.push_back(files[1]);
  EXPECT_NE(error_of([&] { open_bytes(zip_archive(twice)); }).find("twice"), std::string::npos);
  EXPECT_NE(error_of([&] {
              open_bytes(zip_archive({{.name = "readme.txt", .data = "hello"}}));
            }).find("data.pkl"),
            std::string::npos);
}

// Largest memory the process has had, in MB.
long peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

void cut_and_flip(const std::string& whole) {
  const long before = peak_megabytes();
  MemoryFile file;
  const auto open = [&] {
    for (bool ema : {false, true}) {
      survives([&] {
        const Checkpoint checkpoint = Checkpoint::open(file.path(), ema);
        for (const NamedTensor& tensor : checkpoint.tensors()) to_floats(tensor.view);
      });
    }
  };
  for (size_t length = 0; length < whole.size(); ++length) {
    file.write(std::string_view(whole).substr(0, length));
    EXPECT_FALSE(survives([&] { Checkpoint::open(file.path()); })) << length;
  }
  flip_every_bit(whole, whole.size(), [&](const std::string& bytes) {
    file.write(bytes);
    open();
  });
#ifndef __SANITIZE_ADDRESS__  // its allocator keeps freed memory
  EXPECT_LT(peak_megabytes() - before, 64);
#else
  (void)before;
#endif
}

std::string two_dicts() {
  PickleBytes pickle;
  pickle.raw("}(");
  for (const char* part : {"model", "model_ema"}) {
    pickle.text(part).global("collections", "OrderedDict").raw(")R(");
    pickle.text("module.w").tensor("FloatStorage", "0", 6, 0, {3, 2}, {1, 3});
    pickle.text("module.b").tensor("FloatStorage", "1", 2, 0, {2}, {1}).raw("u");
  }
  return pickle.text("epoch").raw("K\x05u").stop();
}

const Storages kTwo = {{"0", kSix}, {"1", float_bytes({6, 7})}};

TEST(TorchZip, CutOrFlippedAnywhereNothingCrashes) { cut_and_flip(torch_zip(two_dicts(), kTwo)); }

TEST(TorchZip, CutOrFlippedZip64NothingCrashes) {
  cut_and_flip(zip_archive({{.name = "x/data.pkl", .data = one_tensor(0, {6}, {1}), .zip64 = true},
                            {.name = "x/data/0", .data = kSix, .zip64 = true}},
                           true));
}

TEST(TorchLegacy, CutOrFlippedAnywhereNothingCrashes) {
  cut_and_flip(torch_legacy(two_dicts(), kTwo, 4));
}

TEST(TorchLegacy, OtherVersionsAndByteOrdersAreRefused) {
  const std::string good = torch_legacy(one_tensor(0, {6}, {1}), {{"0", kSix}}, 4);
  EXPECT_NE(open_bytes(good).find("a"), nullptr);
  const auto refused = [&](const std::string& from, const std::string& to, const char* words) {
    const size_t at = good.find(from);
    ASSERT_NE(at, std::string::npos);
    std::string bytes = good;
    bytes.replace(at, from.size(), to);
    expect_error(ErrorCode::kInput, {words}, [&] { open_bytes(bytes); });
  };
  refused(PickleBytes().integer(1001).stop(), PickleBytes().integer(1002).stop(), "version 1001");
  refused(PickleBytes().integer(1001).stop(), PickleBytes().text("1001").stop(), "version 1001");
  refused("little_endian\x88", "little_endian\x89", "found big-endian");
}

TEST(TorchLegacy, StoragesMustMatchTheirDescription) {
  const std::string pickle = one_tensor(0, {6}, {1});
  EXPECT_FALSE(survives([&] { open_bytes(torch_legacy(pickle, {{"1", kSix}}, 4)); }));
  EXPECT_FALSE(survives([&] { open_bytes(torch_legacy(pickle, {{"0", kSix + kSix}}, 4)); }));
  const std::pair<const char*, int64_t> others[] = {
      {"DoubleStorage", 3}, {"IntStorage", 6}, {"FloatStorage", 5}};
  for (const auto& [type, numel] : others) {
    PickleBytes two_ways;
    two_ways.raw("}(").text("a").tensor("FloatStorage", "0", 6, 0, {6}, {1});
    two_ways.text("b").tensor(type, "0", numel, 0, {3}, {1}).raw("u");
    const std::string bytes = torch_legacy(two_ways.stop(), {{"0", kSix}}, 4);
    EXPECT_TRUE(error_of([&] {
                  open_bytes(bytes);
                }).ends_with("storage \"0\" is described twice, differently"));
  }
}

}  // namespace
}  // namespace vig::test
