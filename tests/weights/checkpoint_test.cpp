#include "vig/weights/checkpoint.h"

#include <cmath>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "support/errors.h"
#include "support/files.h"
#include "support/tree.h"
#include "vig/weights/elements.h"
#include "vig/weights/half.h"
#include "vig/weights/safetensors.h"
#include "weights/torch_bytes.h"

namespace vig::test {
namespace {

using Format = Checkpoint::Format;

std::string golden(const std::string& name) {
  return (std::filesystem::path(kFixtures) / "golden" / name).string();
}

// The same miniature stands in a safetensors file under "param/NAME".
void expect_golden(const Checkpoint& checkpoint, bool half) {
  const SafeTensors expected = SafeTensors::open(golden("vig-mini-silu.safetensors"));
  size_t params = 0;
  for (const NamedTensor& tensor : expected.tensors()) {
    if (!tensor.name.starts_with("param/")) continue;
    ++params;
    SCOPED_TRACE(tensor.name);
    const NamedTensor* found = checkpoint.find(tensor.name.substr(6));
    ASSERT_NE(found, nullptr);
    ASSERT_EQ(found->view.shape, tensor.view.shape);
    auto want = to_floats(tensor.view);
    if (half) {
      EXPECT_EQ(found->view.dtype, DType::kF16);
      for (float& value : want) value = f16_to_f32(f32_to_f16(value));
    }
    ASSERT_EQ(to_floats(found->view), want);
  }
  EXPECT_EQ(checkpoint.tensors().size(), params);
  EXPECT_EQ(params, 40u);
}

TEST(Checkpoint, ReleasedLayout) {
  const Checkpoint checkpoint = Checkpoint::open(golden("vig-mini-silu.pth"));
  EXPECT_EQ(checkpoint.format(), Format::kTorchZip);
  EXPECT_TRUE(checkpoint.metadata().empty());
  EXPECT_EQ(checkpoint.tensors()[0].name, "pos_embed");
  expect_golden(checkpoint, false);
}

TEST(Checkpoint, BareStateDict) {
  expect_golden(Checkpoint::open(golden("vig-mini-silu-bare.pth")), false);
}

TEST(Checkpoint, BytesInMemoryAreReadLikeAFile) {
  for (const char* name : {"vig-mini-silu.pth", "vig-mini-silu.safetensors"}) {
    SCOPED_TRACE(name);
    const Checkpoint file = Checkpoint::open(golden(name));
    const auto bytes = std::make_shared<const std::string>(read_file(golden(name)));
    const std::span<const unsigned char> view(reinterpret_cast<const unsigned char*>(bytes->data()),
                                              bytes->size());
    const Checkpoint memory = Checkpoint::from_bytes("a request", view, false, bytes);
    EXPECT_EQ(memory.path(), "a request");
    EXPECT_EQ(memory.format(), file.format());
    EXPECT_EQ(bytes.use_count(), 2);  // ours and the checkpoint's
    ASSERT_EQ(memory.tensors().size(), file.tensors().size());
    for (size_t i = 0; i < file.tensors().size(); ++i) {
      EXPECT_EQ(memory.tensors()[i].name, file.tensors()[i].name);
      EXPECT_EQ(to_floats(memory.tensors()[i].view), to_floats(file.tensors()[i].view));
    }
    const auto cut = view.first(view.size() - 1);
    EXPECT_TRUE(
        error_of([&] { Checkpoint::from_bytes("a request", cut); }).starts_with("a request: "));
  }
}

TEST(Checkpoint, HalfPrecisionWithDataParallelPrefix) {
  expect_golden(Checkpoint::open(golden("vig-mini-silu-half-ddp.pth")), true);
}

TEST(Checkpoint, LegacyContainer) {
  const Checkpoint checkpoint = Checkpoint::open(golden("vig-mini-silu-legacy.pth"));
  EXPECT_EQ(checkpoint.format(), Format::kTorchLegacy);
  expect_golden(checkpoint, false);
}

TEST(Checkpoint, AveragedWeightsOnRequest) {
  for (const char* name : {"vig-mini-silu.pth", "vig-mini-silu-legacy.pth"}) {
    const Checkpoint plain = Checkpoint::open(golden(name));
    const Checkpoint averaged = Checkpoint::open(golden(name), true);
    ASSERT_EQ(averaged.tensors().size(), plain.tensors().size());
    bool differs = false;
    for (const NamedTensor& tensor : plain.tensors()) {
      const NamedTensor* other = averaged.find(tensor.name);
      ASSERT_NE(other, nullptr) << tensor.name;
      EXPECT_EQ(other->view.shape, tensor.view.shape);
      differs |= to_floats(other->view) != to_floats(tensor.view);
    }
    EXPECT_TRUE(differs);
  }
  for (const char* name :
       {"vig-mini-silu-bare.pth", "vig-mini-silu-half-ddp.pth", "vig-mini-silu.safetensors"}) {
    const std::string message = error_of([&] { Checkpoint::open(golden(name), true); });
    EXPECT_NE(message.find("averaged"), std::string::npos) << message;
    EXPECT_NE(message.find(name), std::string::npos) << message;
  }
}

TEST(Checkpoint, SafetensorsWithMetadataAndPrefix) {
  const TempDir dir;
  const std::string path = dir / "weights.bin";  // recognised by content, not by name
  const float value = 2;
  const TensorView view{&value, DType::kF32, {1}};
  const Metadata metadata = {{"vig.arch", "vig_t"}};
  write_safetensors(path, std::vector<NamedTensor>{{"module.module.b", view}, {"module.a", view}},
                    metadata);
  Checkpoint opened = Checkpoint::open(path);
  const Checkpoint checkpoint = std::move(opened);
  EXPECT_EQ(checkpoint.format(), Format::kSafetensors);
  EXPECT_EQ(checkpoint.metadata(), metadata);
  EXPECT_EQ(checkpoint.path(), path);
  EXPECT_EQ(checkpoint.file_bytes(), std::filesystem::file_size(path));
  ASSERT_EQ(checkpoint.tensors().size(), 2u);
  EXPECT_EQ(checkpoint.tensors()[0].name, "module.b");  // one level, common to all
  EXPECT_EQ(checkpoint.tensors()[1].name, "a");

  write_safetensors(path, std::vector<NamedTensor>{{"module.b", view}, {"a", view}});
  EXPECT_NE(Checkpoint::open(path).find("module.b"), nullptr);
  // The average of a parallel model has two.
  write_safetensors(path,
                    std::vector<NamedTensor>{{"module.module.b", view}, {"module.module.a", view}});
  EXPECT_NE(Checkpoint::open(path).find("a"), nullptr);
  EXPECT_NE(Checkpoint::open(path).find("b"), nullptr);
  // No name becomes empty.
  write_safetensors(path, std::vector<NamedTensor>{{"module.module.", view}});
  EXPECT_NE(Checkpoint::open(path).find("module."), nullptr);
}

TEST(Checkpoint, WhereTheStateDictStands) {
  const TempDir dir;
  const std::string path = dir / "x.pth";
  const auto write = [&](const std::vector<std::string>& keys) {
    PickleBytes pickle;
    pickle.raw("}(");
    for (size_t i = 0; i < keys.size(); ++i) {
      const std::string storage = std::to_string(i);
      pickle.text(keys[i]).raw("}").text("w").tensor("FloatStorage", storage, 1, 0, {1}, {1});
      pickle.raw("s").text("epoch").raw("K\x05s");  // not a tensor: skipped
    }
    pickle.text("args").global("argparse", "Namespace").raw(")\x81}b");
    write_file(path, torch_zip(pickle.raw("u").stop(),
                               {{"0", float_bytes({0})}, {"1", float_bytes({1})}}));
  };
  const auto first = [&](bool ema) {
    return to_floats(Checkpoint::open(path, ema).find("w")->view)[0];
  };
  write({"model_ema", "model"});
  EXPECT_EQ(first(false), 1);
  EXPECT_EQ(first(true), 0);
  write({"optimizer", "state_dict"});
  EXPECT_EQ(first(false), 1);
  write({"state_dict", "state_dict_ema"});
  EXPECT_EQ(first(false), 0);
  EXPECT_EQ(first(true), 1);
  write({"model_ema"});
  EXPECT_EQ(first(false), 0);

  write({"optimizer", "scaler"});
  const std::string message = error_of([&] { Checkpoint::open(path); });
  EXPECT_NE(message.find("only \"optimizer\", \"scaler\", \"args\""), std::string::npos) << message;
}

TEST(Checkpoint, OtherFilesAreNamedForWhatTheyAre) {
  const TempDir dir;
  const std::string path = dir / "x.pth";
  const std::pair<std::string, std::string> cases[] = {
      {"", "empty"},
      {"\x80\x02}.", "bare pickle"},
      {"<html>not found</html>", "web page"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "LFS"},
      {"hello", "something else"},
      {"PK\x03\x04", "zip"},
  };
  for (const auto& [bytes, word] : cases) {
    write_file(path, bytes);
    const std::string message = error_of([&] { Checkpoint::open(path); });
    EXPECT_NE(message.find(word), std::string::npos) << message;
    EXPECT_NE(message.find(path), std::string::npos) << message;
  }
  // A file that is called so is damaged rather than something else.
  const std::string named = dir / "x.safetensors";
  write_file(named, "hello");
  EXPECT_EQ(error_of([&] { Checkpoint::open(named); }),
            named + ": expected a safetensors file, found only 5 bytes");
}

}  // namespace
}  // namespace vig::test
