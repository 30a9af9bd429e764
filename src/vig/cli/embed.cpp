#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/cli/commands.h"
#include "vig/cli/image_command.h"
#include "vig/cli/npy.h"
#include "vig/cli/output.h"
#include "vig/cli/result_lines.h"
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
  std::string out;
  bool resume = false;
  std::string index;
};

// The values of a whole image come in parts; there is no prediction.
using Parts = NpyRows::Parts;

// The values of an embedding as text, some at a time.
template <class Take>
void embedding_json_parts(const Parts& parts, const Take& take) {
  constexpr size_t kTogether = 4096;
  bool more = false;
  parts([&](std::span<const float> values) {
    for (size_t i = 0; i < values.size(); i += kTogether) {
      const auto some = values.subspan(i, std::min(kTogether, values.size() - i));
      take((std::exchange(more, true) ? "," : "") + embedding_json_values(some));
    }
  });
}

// Where embeddings go, one at a time.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void add(const EmbeddedImage& image) = 0;
  virtual void add(const std::string& file, const std::vector<int>& shape, const Parts& parts) = 0;
  virtual void finish(bool whole) = 0;
};

// On standard output.
class JsonSink : public Sink {
 public:
  void add(const EmbeddedImage& image) override { print(begin() + embedding_json(image)); }
  void add(const std::string& file, const std::vector<int>& shape, const Parts& parts) override {
    print(begin() + embedding_json_begin(file, shape));
    embedding_json_parts(parts, [](const std::string& text) { print(text); });
    print("]}");
  }
  void finish(bool) override { print(first_ ? "[]\n" : "\n]\n"); }

 private:
  const char* begin() { return std::exchange(first_, false) ? "[\n" : ",\n"; }

  bool first_ = true;
};

class LineSink : public Sink {
 public:
  LineSink(const EmbedOptions& options, ImageRun& images)
      : lines_(options.out, "", options.resume) {
    lines_.leave_out_done(images);
  }

  void add(const EmbeddedImage& image) override {
    lines_.add(image.name, embedding_json(image), image.error.empty());
  }
  void add(const std::string& file, const std::vector<int>& shape, const Parts& parts) override {
    std::string line = embedding_json_begin(file, shape);
    embedding_json_parts(parts, [&](const std::string& text) { line += text; });
    lines_.add(file, line + "]}", true);
  }
  void finish(bool whole) override { lines_.finish(whole); }

 private:
  ResultLines lines_;
};

std::string names_file(const std::string& array) {
  return std::filesystem::path(array).replace_extension(".jsonl").string();
}

// The array, and a line for each image beside it: its row comes first, so that no line is without.
class NpySink : public Sink {
 public:
  NpySink(const EmbedOptions& options, ImageRun& images)
      : lines_(names_file(options.out), "", options.resume),
        rows_(options.out, options.resume, lines_.results()) {
    lines_.leave_out_done(images);
  }

  void add(const EmbeddedImage& image) override {
    if (!image.error.empty()) {
      lines_.add(image.name, embedding_json(image), false);
      return;
    }
    add(image.name, image.prediction.shape(),
        [&](const auto& take) { take(std::span<const float>(image.prediction.values)); });
  }
  void add(const std::string& file, const std::vector<int>& shape, const Parts& parts) override {
    if (lines_.is_last(file)) {
      rows_.check_last(shape, parts);
    } else {
      rows_.append(shape, parts);
    }
    lines_.add(file, fmt::format("{{\"file\":{}}}", json_text(file)), true);
  }
  void finish(bool whole) override {
    rows_.finish(whole);
    lines_.finish(whole);
  }

 private:
  ResultLines lines_;
  NpyRows rows_;
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

void check(const EmbedOptions& options) {
  ImageRun::check_whole(options.whole, options.images);
  if (options.whole.whole && !options.index.empty()) {
    fail_usage("--whole and --index exclude each other: an index compares vectors of one size");
  }
  if (!options.index.empty() && (!options.out.empty() || options.map || options.json)) {
    fail_usage("--index excludes --out, --map and --json: an index is a format of its own");
  }
  check_results(options.out, {".jsonl", ".npy"}, options.json, options.resume);
}

std::unique_ptr<Sink> make_sink(const EmbedOptions& options, const Embedder& embedder,
                                const ModelSource& source, ImageRun& images) {
  if (!options.index.empty()) {
    return std::make_unique<IndexSink>(options.index, embedder, source, options.images.size);
  }
  if (options.out.empty()) return std::make_unique<JsonSink>();
  if (options.out.ends_with(".npy")) return std::make_unique<NpySink>(options, images);
  return std::make_unique<LineSink>(options, images);
}

int embed(const EmbedOptions& options) {
  check(options);
  ImageRun images(options.images);
  FileRoles roles = images.roles();
  roles.write("--out", options.out);
  roles.write("--index", options.index);
  if (options.out.ends_with(".npy")) roles.write("--out", names_file(options.out));
  roles.check();
  const ModelSource source = chosen_source(options.images);
  const Embedder embedder(source, images.run_options(options.whole));
  const std::unique_ptr<Sink> sink = make_sink(options, embedder, source, images);
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
  options->images.tar_files = true;
  Command& command = line.add_command("embed", "Compute an embedding vector for each image");
  add_image_options(command, options->images);
  add_whole_options(command, options->whole);
  command.flag("--map", options->map,
               "Write the feature map before pooling, [height, width, channels], instead of "
               "the pooled vector");
  command
      .option(
          "--out", options->out,
          "Write a line for each image to FILE.jsonl, or a float32 array to FILE.npy with a line "
          "for each row in FILE.jsonl (default: a JSON list on standard output)")
      .value("FILE");
  add_resume(command, options->resume);
  command.option("--index", options->index, "Write the vectors to an index for vig search instead")
      .value("FILE");
  add_json(command, options->json);
  command.footer =
      "An image that cannot be read is reported and skipped, and the exit status is 3 (1: none "
      "could).\n"
      "--out writes each finished image at once to FILE.partial, which becomes FILE at the end. "
      "After "
      "Ctrl-C or a\n"
      "crash, the same command with --resume continues. --index writes FILE.partial after Ctrl-C.";
  command.run = [options] { return embed(*options); };
}

}  // namespace vig::cli
