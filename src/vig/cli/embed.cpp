#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/cli/commands.h"
#include "vig/cli/image_command.h"
#include "vig/cli/npy.h"
#include "vig/cli/output.h"
#include "vig/cli/output_file.h"
#include "vig/pipeline/embedder.h"
#include "vig/pipeline/image_index.h"
#include "vig/pipeline/results_json.h"

namespace vig::cli {
namespace {

struct EmbedOptions {
  ImageOptions images;
  WholeCommand whole;
  bool map = false;
  bool json = false;
  std::string format = "json";
  std::string out;
  std::string index;
};

// Where embeddings go, one at a time.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void add(const EmbeddedImage& image) = 0;
  // Of a whole image, whose values come in parts; there is no prediction.
  using Parts = std::function<void(const std::function<void(std::span<const float>)>& take)>;
  virtual void add(const std::string& file, const std::vector<int>& shape, const Parts& parts) = 0;
  virtual void finish(bool whole) = 0;
};

class JsonSink : public Sink {
 public:
  explicit JsonSink(const std::string& path) {
    if (!path.empty()) file_.emplace(path);
  }

  void add(const EmbeddedImage& image) override { write(begin() + embedding_json(image)); }
  void add(const std::string& file, const std::vector<int>& shape, const Parts& parts) override {
    write(begin() + embedding_json_begin(file, shape));
    constexpr size_t kTogether = 4096;
    bool more = false;
    parts([&](std::span<const float> values) {
      for (size_t i = 0; i < values.size(); i += kTogether) {
        const auto some = values.subspan(i, std::min(kTogether, values.size() - i));
        write((std::exchange(more, true) ? "," : "") + embedding_json_values(some));
      }
    });
    write("]}");
  }
  void finish(bool whole) override {
    write(first_ ? "[]\n" : "\n]\n");
    if (file_) file_->finish(whole);
  }

 private:
  const char* begin() { return std::exchange(first_, false) ? "[\n" : ",\n"; }
  void write(const std::string& text) {
    if (file_) {
      file_->write(text);
    } else {
      print(text);
    }
  }

  std::optional<OutputFile> file_;
  bool first_ = true;
};

std::string names_file(const std::string& array) {
  return std::filesystem::path(array).replace_extension(".json").string();
}

// The array, and the names of its rows in a JSON file beside it.
class NpySink : public Sink {
 public:
  explicit NpySink(const std::string& path)
      : array_(path), names_(names_file(path)), files_(Json::array()) {}

  void add(const EmbeddedImage& image) override {
    if (!image.error.empty()) return;
    array_.append(image.prediction.shape(), image.prediction.values);
    files_.push_back(image.name);
  }
  void add(const std::string& file, const std::vector<int>& shape, const Parts& parts) override {
    array_.begin_row(shape);
    parts([&](std::span<const float> values) { array_.write(values); });
    files_.push_back(file);
  }
  void finish(bool whole) override {
    names_.write(json_text({{"files", files_}}, 1) + "\n");
    array_.finish(whole);
    names_.finish(whole);
  }

 private:
  NpyWriter array_;
  OutputFile names_;
  Json files_;
};

// Relative to the folder of the index, so that both can be moved together.
std::string name_in_index(const std::string& file, const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return file;  // a stream
  const fs::path name = fs::absolute(file, error).lexically_normal().lexically_relative(folder);
  if (fs::equivalent(folder / name, file, error)) return name.string();
  // There are links in between.
  return fs::canonical(file, error).lexically_relative(fs::canonical(folder, error)).string();
}

// An index for vig search.
class IndexSink : public Sink {
 public:
  IndexSink(const std::string& path, const Embedder& embedder, const ModelSource& source, int size)
      : path_(path),
        folder_(std::filesystem::absolute(path).lexically_normal().parent_path()),
        index_(embedder, source.spec.name, size) {}

  void add(const EmbeddedImage& image) override {
    if (!image.error.empty()) return;
    index_.add(name_in_index(image.name, folder_), image.prediction.values);
  }
  void add(const std::string&, const std::vector<int>&, const Parts&) override {
    fail("an index has no whole images");
  }
  void finish(bool whole) override {
    const std::string path = whole ? path_ : partial_name(path_);
    index_.write(path);
    complain(fmt::format("{} images in {}", index_.size(), printable(path, 4096)));
  }

 private:
  std::string path_;
  std::filesystem::path folder_;
  ImageIndexWriter index_;
};

void check_format(const EmbedOptions& options) {
  ImageRun::check_whole(options.whole, options.images);
  if (options.whole.whole && !options.index.empty()) {
    fail_usage("--whole and --index exclude each other: an index compares vectors of one size");
  }
  if (!options.index.empty() &&
      (!options.out.empty() || options.map || options.json || options.format != "json")) {
    fail_usage(
        "--index excludes --out, --map, --json and --format: an index is a format of its own");
  }
  if (options.format == "json") return;
  if (options.json) fail_usage("--json and --format npy exclude each other");
  if (!options.out.ends_with(".npy")) {
    fail_usage("--format npy needs --out FILE.npy, found '{}'", options.out);
  }
}

std::unique_ptr<Sink> make_sink(const EmbedOptions& options, const Embedder& embedder,
                                const ModelSource& source) {
  if (!options.index.empty()) {
    return std::make_unique<IndexSink>(options.index, embedder, source, options.images.size);
  }
  if (options.format == "json") return std::make_unique<JsonSink>(options.out);
  return std::make_unique<NpySink>(options.out);
}

int embed(const EmbedOptions& options) {
  check_format(options);
  ImageRun images(options.images);
  FileRoles roles = images.roles();
  roles.write("--out", options.out);
  roles.write("--index", options.index);
  if (options.format == "npy") roles.write("--out", names_file(options.out));
  roles.check();
  const ModelSource source = chosen_source(options.images);
  const Embedder embedder(source, images.run_options(options.whole));
  const std::unique_ptr<Sink> sink = make_sink(options, embedder, source);
  const std::string note = default_model_note(source, options.images);
  if (!note.empty()) complain(note);
  const auto kind = options.map ? Embedder::Kind::kMap : Embedder::Kind::kPooled;

  const auto take = [&](std::span<const EmbeddedImage> batch) {
    images.hide_progress();
    for (const EmbeddedImage& image : batch) {
      if (!image.error.empty()) images.reject(image.error);
      sink->add(image);
    }
    return images.advance(batch.size());
  };
  const auto take_whole = [&](std::span<const ImageResult<WholeValues>> batch) {
    images.hide_progress();
    for (const ImageResult<WholeValues>& image : batch) {
      const WholeValues& values = image.prediction;
      if (!image.error.empty()) {
        images.reject(image.error);
        sink->add(EmbeddedImage{image.name, {}, image.error});
      } else {
        const std::vector<int> shape =
            options.map ? std::vector{values.height, values.width, values.channels}
                        : std::vector{values.channels};
        sink->add(image.name, shape, [&](const auto& take_part) { values.for_each(take_part); });
      }
    }
    return images.advance(batch.size());
  };
  images.run([&](const SampleSource& all) {
    if (options.whole.whole) {
      embedder.embed_whole(all, kind, images.whole_options(options.whole, all), take_whole);
    } else {
      embedder.embed(all, kind, take);
    }
  });
  sink->finish(images.complete());
  return images.exit_status();
}

}  // namespace

void add_embed(CommandLine& line) {
  auto options = std::make_shared<EmbedOptions>();
  Command& command = line.add_command("embed", "Compute an embedding vector for each image");
  add_image_options(command, options->images);
  add_whole_options(command, options->whole);
  command.flag("--map", options->map,
               "Write the feature map before pooling, [height, width, channels], instead of "
               "the pooled vector");
  command
      .option("--format", options->format,
              "Output format: json, or npy (float32, one row per image)")
      .one_of({"json", "npy"})
      .show_default()
      .value("FORMAT");
  command
      .option("--out", options->out,
              "Output file (default: standard output); FILE.npy comes with FILE.json, the "
              "image names of its rows")
      .value("FILE");
  command.option("--index", options->index, "Write the vectors to an index for vig search instead")
      .value("FILE");
  add_json(command, options->json);
  command.footer =
      "An image that cannot be read is reported and skipped, and the exit status is 1.\n"
      "Ctrl-C stops after the current batch; --out and --index then write FILE.partial.";
  command.run = [options] { return embed(*options); };
}

}  // namespace vig::cli
