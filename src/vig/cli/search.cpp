#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <optional>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/cli/commands.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/output_file.h"
#include "vig/cli/picture_command.h"
#include "vig/image/encode.h"
#include "vig/pipeline/json_text.h"
#include "vig/pipeline/picture_index.h"
#include "vig/tasks/neighbours_html.h"

namespace vig::cli {
namespace {

struct SearchOptions {
  PictureOptions pictures;
  std::string index;
  int top = 5;
  std::string page;
  bool json = false;
};

std::string as_text(const EmbeddedPicture& picture, const PictureIndex& index,
                    std::span<const Neighbour> found) {
  std::string text = printable(picture.name, 4096) + "\n";
  for (const Neighbour& one : found) {
    fmt::format_to(std::back_inserter(text), "  {:7.4f}  {}\n", one.cosine,
                   printable(index.file(one.picture), 4096));
  }
  return text;
}

std::string as_json(const EmbeddedPicture& picture, const PictureIndex& index,
                    std::span<const Neighbour> found) {
  Json entry = {{"file", picture.name}};
  if (!picture.error.empty()) {
    entry["error"] = picture.error;
    return json_text(entry);
  }
  entry["neighbours"] = Json::array();
  for (const Neighbour& one : found) {
    entry["neighbours"].push_back(
        {{"file", index.file(one.picture)}, {"cosine", short_number(one.cosine)}});
  }
  return json_text(entry);
}

// A small copy for the page; none where the picture cannot be read any more.
std::vector<uint8_t> small_jpeg(const std::string& file, const DecodeOptions& decode) {
  constexpr int kSide = 200;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return {};
  try {
    return encode_jpeg(thumbnail(*PictureFiles({file}, decode).load(0).image, kSide));
  } catch (const Error&) {
    return {};
  }
}

int search(SearchOptions options) {
  const PictureIndex index = PictureIndex::open(options.index);
  if (options.pictures.size == 0) options.pictures.size = index.input_size();
  PictureRun pictures(options.pictures);
  FileRoles roles = pictures.roles();
  roles.read("index", options.index);
  roles.write("--html", options.page);
  // The page shows them, too.
  for (size_t i = 0; i < index.size() && !options.page.empty(); ++i) {
    roles.read("picture", index.file(i));
  }
  roles.check();
  const ModelSource source = chosen_source(options.pictures);
  const Embedder embedder(source, pictures.run_options());
  as_input(options.index, [&] {
    index.check_network(embedder);
    return 0;
  });
  std::optional<OutputFile> page;
  if (!options.page.empty()) page.emplace(options.page);
  std::vector<ShownQuery> shown;
  const DecodeOptions decode = options.pictures.decode();

  bool first = true;
  const auto take = [&](std::span<const EmbeddedPicture> answers) {
    pictures.hide_progress();
    std::vector<std::vector<float>> queries;
    for (const EmbeddedPicture& answer : answers) {
      if (answer.error.empty()) queries.push_back(answer.answer.values);
    }
    const auto neighbours = index.nearest(queries, static_cast<size_t>(options.top));
    auto next = neighbours.begin();
    for (const EmbeddedPicture& answer : answers) {
      if (!answer.error.empty()) pictures.reject(answer.error);
      const std::span<const Neighbour> found =
          answer.error.empty() ? std::span<const Neighbour>(*next++) : std::span<const Neighbour>();
      if (options.json) {
        print((first ? "[\n" : ",\n") + as_json(answer, index, found));
        first = false;
      } else if (answer.error.empty()) {
        print(as_text(answer, index, found));
      }
      if (!page || !answer.error.empty()) continue;
      ShownQuery query{{answer.name, 1, small_jpeg(answer.name, decode)}, {}};
      for (const Neighbour& one : found) {
        const std::string& file = index.file(one.picture);
        query.neighbours.push_back({file, one.cosine, small_jpeg(file, decode)});
      }
      shown.push_back(std::move(query));
    }
    return pictures.advance(answers.size());
  };
  pictures.run(
      [&](const SampleSource& all) { embedder.embed(all, Embedder::Kind::kPooled, take); });
  if (options.json) print(first ? "[]\n" : "\n]\n");
  if (page) {
    page->write(neighbours_html(shown));
    page->finish(pictures.complete());
  }
  return pictures.exit_status();
}

}  // namespace

void add_search(CommandLine& line) {
  auto options = std::make_shared<SearchOptions>();
  Command& command =
      line.add_command("search", "Find the pictures of an index that are most like a picture");
  command.option("index", options->index, "Index made by vig embed --index")
      .required()
      .value("INDEX");
  add_picture_options(command, options->pictures);
  command.option("--top", options->top, "Number of pictures to print for each picture")
      .range(1, 1 << 20)
      .show_default()
      .value("K");
  command
      .option("--html", options->page,
              "Also write a page that shows the pictures beside their neighbours")
      .value("FILE.html");
  add_json(command, options->json);
  command.footer =
      "Pictures are compared by the cosine of their embedding vectors, each with every picture of\n"
      "the index: the answer is exact. The network must be the one that made the index.";
  command.run = [options] { return search(*options); };
}

}  // namespace vig::cli
