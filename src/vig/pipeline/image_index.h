// Vectors of images, kept to find the images that are most alike.
//
// The file is a safetensors file: `vectors` [images, channels] of length 1, `probe` [channels],
// the vector of a made image by which a search knows whether it uses the same network, and in the
// metadata `vig.index` {"arch", "size"} and `vig.files`, the names of the images, relative to the
// folder of the index. An index is untrusted input: a name may be that of any file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vig/pipeline/embedder.h"
#include "vig/weights/safetensors.h"

namespace vig {

struct Neighbour {
  size_t image = 0;  // its row in the index
  float cosine = 0;
};

class ImageIndex {
 public:
  // Throws one sentence naming the file where it is no such index.
  static ImageIndex open(const std::string& path);

  size_t size() const { return files_.size(); }
  int channels() const { return channels_; }
  int input_size() const { return input_size_; }
  const std::string& file(size_t image) const { return files_[image]; }

  // Throws unless the embedder is the network that the index was made with: a made image has the
  // same vector.
  void check_network(const Embedder& embedder) const;

  // For every query, [queries, channels], the `most` images with the largest cosine, largest
  // first, of equal ones the earlier first. Exact: every image is compared. Throws, naming the
  // file, where a vector is not finite or longer than 1.
  std::vector<std::vector<Neighbour>> nearest(std::span<const std::vector<float>> queries,
                                              size_t most) const;

 private:
  ImageIndex(std::string path, SafeTensors file)
      : path_(std::move(path)), tensors_(std::move(file)) {}

  std::string path_;
  SafeTensors tensors_;  // holds the vectors
  const float* vectors_ = nullptr;
  const float* probe_ = nullptr;
  int channels_ = 0;
  int input_size_ = 0;
  std::vector<std::string> files_;
};

// Collects vectors and writes the file.
class ImageIndexWriter {
 public:
  ImageIndexWriter(const Embedder& embedder, std::string arch, int input_size);

  // Throws for a vector of zeros, which is like nothing.
  void add(const std::string& file, std::span<const float> vector);
  size_t size() const { return files_.size(); }
  void write(const std::string& path) const;

 private:
  std::string arch_;
  int input_size_;
  std::vector<float> probe_, vectors_;
  std::vector<std::string> files_;
};

}  // namespace vig
