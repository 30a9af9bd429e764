#include "vig/pipeline/image_index.h"

#include <algorithm>
#include <cmath>

#include "vig/base/buffer.h"
#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/kernels/gemm.h"
#include "vig/pipeline/json_text.h"
#include "vig/pipeline/model_source.h"
#include "vig/weights/strict_json.h"

namespace vig {
namespace {

// An image that every network sees differently: waves of three directions and lengths.
class Probe final : public SampleSource {
 public:
  size_t size() const override { return 1; }
  std::string location(size_t) const override { return "the probe"; }
  Sample load(size_t) const override {
    auto image = std::make_shared<Image>(256, 256);
    for (int y = 0; y < 256; ++y) {
      for (int x = 0; x < 256; ++x) {
        uint8_t* const pixel = image->row(y) + 3 * x;
        pixel[0] = static_cast<uint8_t>((x * x / 97 + y) & 255);
        pixel[1] = static_cast<uint8_t>((x + y * y / 61) & 255);
        pixel[2] = static_cast<uint8_t>((x * y / 83) & 255);
      }
    }
    return {image, {}};
  }
};

std::vector<float> unit(std::span<const float> vector, const std::string& of) {
  double sum = 0;
  for (const float value : vector) sum += static_cast<double>(value) * value;
  if (!(sum > 0) || !std::isfinite(sum)) {
    fail("{}: its vector has the length {}, expected one to compare", printable(of, 4096),
         std::sqrt(sum));
  }
  std::vector<float> result(vector.begin(), vector.end());
  for (float& value : result) value = static_cast<float>(value / std::sqrt(sum));
  return result;
}

std::vector<float> probe_vector(const Embedder& embedder, int size) {
  const EmbeddedImage probe = embedder.embed(Probe(), Embedder::Kind::kPooled, size).front();
  if (!probe.error.empty()) fail("{}", probe.error);
  return unit(probe.prediction.values, "the probe");
}

// A float32 tensor of the file, aligned.
const float* floats(const SafeTensors& file, const std::string& path, const char* name, int rank) {
  const NamedTensor* const tensor = file.find(name);
  const bool good = tensor != nullptr && tensor->view.dtype == DType::kF32 &&
                    tensor->view.shape.rank() == rank &&
                    reinterpret_cast<uintptr_t>(tensor->view.data) % alignof(float) == 0;
  if (!good) {
    fail("{}: expected a float32 tensor {} of {} axes; vig embed --index makes such files", path,
         name, rank);
  }
  return static_cast<const float*>(tensor->view.data);
}

Json metadata_json(const SafeTensors& file, const std::string& path, const char* key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) {
    fail("{}: has no {} in its metadata; vig embed --index makes such files", path, key);
  }
  return parse_strict_json(path + ": " + key, found->second,
                           {.bytes = SafeTensors::kMaxHeader, .depth = 1});
}

}  // namespace

ImageIndex ImageIndex::open(const std::string& path) {
  ImageIndex index(path, SafeTensors::open(path));
  const SafeTensors& file = index.tensors_;
  index.vectors_ = floats(file, path, "vectors", 2);
  index.probe_ = floats(file, path, "probe", 1);
  const Shape& shape = file.find("vectors")->view.shape;
  const Json about = metadata_json(file, path, "vig.index"),
             files = metadata_json(file, path, "vig.files");
  constexpr int64_t kMostChannels = 1 << 20;
  if (shape[1] < 1 || shape[1] > kMostChannels || file.find("probe")->view.shape[0] != shape[1]) {
    fail("{}: vectors of {} and a probe of {} channels, expected 1 to {} and equal ones", path,
         shape[1], file.find("probe")->view.shape[0], kMostChannels);
  }
  index.channels_ = static_cast<int>(shape[1]);
  if (!std::all_of(index.probe_, index.probe_ + shape[1],
                   [](float x) { return std::isfinite(x); })) {
    fail("{}: its probe is not finite; vig embed --index makes such files", path);
  }
  const bool sized = about.contains("size") && about["size"].is_integer(0, kMaxInputSide);
  if (!sized) fail("{}: expected a size from 0 to {} in vig.index", path, kMaxInputSide);
  index.input_size_ = about["size"].get<int>();
  if (!files.is_array() || static_cast<int64_t>(files.size()) != shape[0]) {
    fail("{}: expected {} names in vig.files", path, shape[0]);
  }
  for (const Json& name : files) {
    if (!name.is_string()) fail("{}: expected texts in vig.files", path);
    index.files_.push_back(name.get<std::string>());
  }
  return index;
}

void ImageIndex::check_network(const Embedder& embedder) const {
  // Instruction sets differ in the last bits; networks differ in the first ones.
  constexpr double kSame = 0.9999;
  const std::vector<float> probe = probe_vector(embedder, input_size_);
  if (static_cast<int>(probe.size()) != channels_) {
    fail("the index was made with another network: its vectors have {} channels and this one's {}",
         channels_, probe.size());
  }
  double cosine = 0;
  for (size_t c = 0; c < probe.size(); ++c) cosine += static_cast<double>(probe[c]) * probe_[c];
  if (!(cosine >= kSame)) {
    fail(
        "the index was made with another network: for the same image the cosine of its vector "
        "and this one's is {:.4f}",
        cosine);
  }
}

std::vector<std::vector<Neighbour>> ImageIndex::nearest(std::span<const std::vector<float>> queries,
                                                        size_t most) const {
  constexpr int64_t kBlock = 4096;  // rows compared at a time
  const auto count = static_cast<int64_t>(queries.size());
  std::vector<std::vector<Neighbour>> best(queries.size());
  if (count == 0 || most == 0) return best;
  std::vector<float> rows;
  for (const std::vector<float>& query : queries) {
    const std::vector<float> row = unit(query, "a query");
    if (row.size() != static_cast<size_t>(channels_)) {
      fail("a query of {} channels for vectors of {}", row.size(), channels_);
    }
    rows.insert(rows.end(), row.begin(), row.end());
  }
  Buffer panels(gemm_packed_floats(count, channels_, false) * sizeof(float));
  GemmArgs args;
  args.weight = gemm_pack(rows.data(), nullptr, count, channels_, false, panels.floats());
  args.lda = channels_;
  args.ldc = count;
  std::vector<float> cosines(
      static_cast<size_t>(std::min<int64_t>(kBlock, static_cast<int64_t>(size()))) *
      queries.size());
  const auto better = [](const Neighbour& a, const Neighbour& b) {
    return a.cosine != b.cosine ? a.cosine > b.cosine : a.image < b.image;
  };
  for (int64_t first = 0; first < static_cast<int64_t>(size()); first += kBlock) {
    args.a = vectors_ + first * channels_;
    args.rows = std::min(kBlock, static_cast<int64_t>(size()) - first);
    args.c = cosines.data();
    gemm(args);
    for (size_t q = 0; q < queries.size(); ++q) {
      // A heap with the worst of the best in front.
      std::vector<Neighbour>& heap = best[q];
      for (int64_t row = 0; row < args.rows; ++row) {
        const Neighbour one{static_cast<size_t>(first + row),
                            cosines[static_cast<size_t>(row) * queries.size() + q]};
        // Vectors have the length 1, but for rounding; what is not finite has no order either.
        if (!(std::abs(one.cosine) <= 1.001f)) {
          fail(
              "{}: the vector of {} gives the cosine {}, expected a vector of length 1; vig embed "
              "--index makes such files",
              path_, printable(files_[one.image], 200), one.cosine);
        }
        if (heap.size() == most) {
          if (!better(one, heap.front())) continue;
          std::ranges::pop_heap(heap, better);
          heap.pop_back();
        }
        heap.push_back(one);
        std::ranges::push_heap(heap, better);
      }
    }
  }
  for (std::vector<Neighbour>& heap : best) std::ranges::sort_heap(heap, better);
  return best;
}

ImageIndexWriter::ImageIndexWriter(const Embedder& embedder, std::string arch, int input_size)
    : arch_(std::move(arch)), input_size_(input_size), probe_(probe_vector(embedder, input_size)) {}

void ImageIndexWriter::add(const std::string& file, std::span<const float> vector) {
  const std::vector<float> row = unit(vector, file);
  vectors_.insert(vectors_.end(), row.begin(), row.end());
  files_.push_back(file);
}

void ImageIndexWriter::write(const std::string& path) const {
  const auto channels = static_cast<int64_t>(probe_.size());
  const auto count = static_cast<int64_t>(files_.size());
  const std::vector<NamedTensor> tensors = {
      {"vectors", {vectors_.data(), DType::kF32, {count, channels}}},
      {"probe", {probe_.data(), DType::kF32, {channels}}}};
  const Json about = {{"arch", arch_}, {"size", input_size_}};
  write_safetensors(path, tensors,
                    {{"vig.index", json_text(about)}, {"vig.files", json_text(files_)}});
}

}  // namespace vig
