// vig-serve as its users see it, and beside it the command line.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <list>
#include <regex>
#include <thread>

#include "serve/client.h"
#include "support/files.h"
#include "support/run_program.h"
#include "support/started_program.h"
#include "support/tree.h"
#include "vig/image/encode_png.h"
#include "vig/pipeline/model_source.h"
#include "vig/pipeline/save_model.h"
#include "vig/tasks/jpeg_uri.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kProgram = fs::path(kVig).replace_filename("vig-serve");
const std::string kPhoto =
    (fs::path(kFixtures) / "image/photos/cat_progressive_320x240.jpg").string();

std::string write_model(const fs::path& file) {
  ModelRequest request;
  request.model = (fs::path(kFixtures) / "golden/vig-mini-silu.pth").string();
  request.arch = "test_vig";
  ModelSource source = find_source(request);
  for (int i = 0; i < 10; ++i) source.classes.push_back("class " + std::to_string(i));
  save_model(source, file.string());
  return file.string();
}

json result_of(const HttpReply& reply) {
  EXPECT_EQ(reply.status, 200) << reply.body;
  json result = json::parse(reply.body)["results"][0];
  result.erase("file");
  return result;
}

TEST(ServeProgram, PredictsAsTheCommandLineAndEndsOnASignal) {
  const TempDir folder;
  const std::string model = write_model(folder / "mini.safetensors");
  StartedProgram program({kProgram.string(), "serve", "-m", model, "-m", "copy=" + model, "--port",
                          "0", "--log", "json", "--threads", "1"},
                         folder.path());
  const uint16_t port = served_port(program);
  const std::string photo = read_file(kPhoto);
  for (const auto& [command, target] : {std::pair<std::vector<std::string>, std::string>{
                                            {"classify", "--top", "3"}, "/v1/classify?top=3"},
                                        {{"embed"}, "/v1/embed?model=copy"},
                                        {{"embed", "--size", "96"}, "/v1/embed?size=96"}}) {
    std::vector<std::string> line = {kVig};
    line.insert(line.end(), command.begin(), command.end());
    line.insert(line.end(), {kPhoto, "-m", model, "--json"});
    const RunResult shown = run_program(line);
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    json expected = json::parse(shown.out);
    if (expected.is_array()) expected = expected[0];
    json reply = result_of(ask(port, request_text("POST", target, photo)));
    for (const char* key : {"classes", "shape", "values"}) {
      EXPECT_EQ(reply.value(key, json()), expected.value(key, json())) << target;
    }
  }
  EXPECT_EQ(json::parse(ask(port, request_text("GET", "/v1/models")).body)["models"].size(), 2u);
  EXPECT_EQ(ask(port, "GET /health HTTP/1.1\r\nHost: example.org\r\n\r\n").status, 403);
  EXPECT_EQ(ask(port, "nonsense\r\n\r\n").status, 400);
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0) << program.err();
  std::istringstream lines(program.err());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json entry = json::parse(line);
    EXPECT_EQ(entry.size(), 4u) << "nothing of the request but its route: " << line;
    EXPECT_TRUE(entry.contains("time") && entry.contains("seconds"));
  }
  EXPECT_EQ(count, 6) << "what is no request has a line, too";
}

// A balancer that asks /ready has time to send its requests elsewhere.
TEST(ServeProgram, ALameDuckStillResponds) {
  const TempDir folder;
  const std::string model = write_model(folder / "mini.safetensors");
  const std::string photo = read_file(kPhoto);
  const auto start = [&](const char* seconds) {
    return std::vector<std::string>{
        kProgram.string(),     "serve", "-m",        model, "--port", "0",
        "--lame-duck-seconds", seconds, "--threads", "1"};
  };
  {
    StartedProgram program(start("3600"), folder.path());
    const uint16_t port = served_port(program);
    Client kept(port);
    ASSERT_TRUE(kept.send(request_text("GET", "/ready")));
    EXPECT_EQ(kept.read().status, 200);
    program.signal(SIGTERM);
    while (ask(port, request_text("GET", "/ready")).status == 200) usleep(1000);
    EXPECT_EQ(ask(port, request_text("GET", "/ready")).status, 503);
    EXPECT_EQ(ask(port, request_text("GET", "/health")).status, 200);
    EXPECT_EQ(ask(port, request_text("POST", "/v1/classify", photo)).status, 200);
    // The connection of before is used once more, and its client learns that it ends.
    ASSERT_TRUE(kept.send(request_text("POST", "/v1/classify", photo)));
    const HttpReply last = kept.read();
    EXPECT_EQ(last.status, 200);
    EXPECT_EQ(last.header("connection"), "close");
    EXPECT_TRUE(program.running());
    program.signal(SIGTERM);  // who does not want to wait asks again
    EXPECT_EQ(program.wait(), 0) << program.err();
  }
  StartedProgram program(start("0.2"), folder.path());
  EXPECT_GT(served_port(program), 0);
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0) << program.err();
}

// The models that come with vig, one for each task.
TEST(ServeProgram, ResultsOfEveryTaskAreThoseOfTheCommandLine) {
  const TempDir folder;
  StartedProgram program({kProgram.string(), "serve", "--port", "0", "--threads", "2"},
                         folder.path());
  const uint16_t port = served_port(program);
  const std::string photo = read_file(kPhoto);
  const auto shown = [&](std::vector<std::string> line) {
    line.insert(line.begin(), kVig);
    line.insert(line.end(), {kPhoto, "--json"});
    const RunResult result = run_program(line);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out);
  };
  const auto served = [&](const std::string& target) {
    return result_of(ask(port, request_text("POST", target, photo)));
  };
  const auto without = [](json object, const std::vector<const char*>& keys) {
    for (const char* key : keys) object.erase(key);
    return object;
  };
  const std::string out = folder.path().string();
  EXPECT_EQ(served("/v1/classify"), without(shown({"classify"})[0], {"file", "model"}));
  EXPECT_EQ(served("/v1/embed"), without(shown({"embed"})[0], {"file"}));
  EXPECT_EQ(served("/v1/explain"), without(shown({"explain", "--out", out})[0], {"file", "image"}));
  EXPECT_EQ(served("/v1/explain?x=0.25&y=0.75&layer=1"),
            without(shown({"explain", "--at", "0.25,0.75", "--layer", "1", "--out", out})[0],
                    {"file", "image"}));

  const json labelled = served("/v1/segment");
  EXPECT_EQ(without(labelled, {"labels"}),
            without(shown({"segment", "--out", out})[0], {"file", "labels", "overlay"}));
  const std::string labels = (folder / (fs::path(kPhoto).stem().string() + ".labels.png")).string();
  const std::string png = read_file(labels);
  EXPECT_EQ(labelled["labels"],
            png_uri({reinterpret_cast<const uint8_t*>(png.data()), png.size()}));

  std::vector<size_t> counts;
  for (const std::string score : {"0.3", "0.6", "0.05"}) {
    const json expected = shown({"detect", "--score", score, "--out", out});
    const json found =
        served("/v1/detect" + (score == "0.3" ? "" : "?score=" + score))["detections"];
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(without(found[i], {"file_name"}), without(expected[i], {"file_name", "warnings"}));
    }
    counts.push_back(found.size());
  }
  EXPECT_TRUE(0 < counts[1] && counts[1] < counts[0] && counts[0] < counts[2]);
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0) << program.err();
  const std::regex form(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z 200 /v1/[a-z]+ \d+\.\d ms)");
  std::istringstream lines(program.err());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(std::regex_match(line, form)) << line;
  }
  EXPECT_EQ(count, 8);
}

TEST(ServeProgram, ModelsThatComeWithVigHaveNames) {
  const TempDir folder;
  write_file(folder / "segment", "no weights");  // the current folder's files are ./NAME
  StartedProgram program({kProgram.string(), "serve", "-m", "segment", "-m", "mine=detect", "-m",
                          "plain=", "--port", "0", "--threads", "1"},
                         folder.path());
  const uint16_t port = served_port(program);
  const json models = json::parse(ask(port, request_text("GET", "/v1/models")).body)["models"];
  std::vector<std::pair<std::string, std::string>> found;
  for (const json& one : models) found.emplace_back(one["name"], one["task"]);
  EXPECT_EQ(found, (std::vector<std::pair<std::string, std::string>>{
                       {"segment", "segment"}, {"mine", "detect"}, {"plain", "classify"}}));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0) << program.err();
}

TEST(ServeProgram, AnUnreadLogDoesNotBlock) {
  const TempDir folder;
  const std::string model = write_model(folder / "mini.safetensors");
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int log = open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(log, 0);
  while (write(log, "x", 1) == 1) continue;  // until it is full
  const auto taken = [&] {
    std::string text;
    char bytes[4096];
    for (ssize_t count = 0; (count = read(log, bytes, sizeof(bytes))) > 0;) {
      text.append(bytes, static_cast<size_t>(count));
    }
    return text;
  };
  StartedProgram program({"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>'" + pipe + "'", kProgram.string(),
                          "serve", "-m", model, "--port", "0", "--log", "json"},
                         folder.path());
  const uint16_t port = served_port(program);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(port, request_text("GET", "/v1/models")).status, 200);
  EXPECT_EQ(taken().find_first_not_of('x'), std::string::npos);
  EXPECT_EQ(ask(port, request_text("GET", "/v1/models")).status, 200);
  std::istringstream lines(taken());
  std::string first, second;
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_EQ(json::parse(first), json({{"lost", 3}}));
  EXPECT_EQ(json::parse(second)["status"], 200);
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0);
  close(log);
}

// Statuses of requests with so many images, none of which is one.
int status_of_images(uint16_t port, int images) {
  json list = json::array();
  for (int i = 0; i < images; ++i) list.push_back("QQ==");
  return ask(port, request_text("POST", "/v1/classify", json({{"images", list}}).dump(),
                                "Content-Type: application/json\r\n"))
      .status;
}

TEST(ServeProgram, LimitsAreOptions) {
  const TempDir folder;
  const std::string model = write_model(folder / "mini.safetensors"), photo = read_file(kPhoto);
  std::vector<std::string> line = {kProgram.string(), "serve", "-m",        "pets=" + model,
                                   "--port",          "0",     "--threads", "1"};
  line.insert(line.end(), {"--max-size", "64", "--max-pixels", "76799", "--images", "2"});
  line.insert(line.end(), {"--max-body", "300000", "--max-bodies", "200000"});
  line.insert(line.end(), {"--max-connections", "16", "--log", "none"});
  StartedProgram program(line, folder.path());
  const uint16_t port = served_port(program);
  {
    std::list<Client> clients;
    for (int i = 0; i < 16; ++i) {
      clients.emplace_back(port).send(request_text("GET", "/health"));
      EXPECT_EQ(clients.back().read().status, 200);
    }
    EXPECT_EQ(Client(port).read().status, 503) << "the 17th connection";
  }
  while (ask(port, request_text("GET", "/health")).status == 503) std::this_thread::yield();
  const auto post = [&](const std::string& target, const std::string& body) {
    return ask(port, request_text("POST", target, body));
  };
  const std::string models = ask(port, request_text("GET", "/v1/models")).body;
  EXPECT_EQ(json::parse(models)["models"][0]["max_size"], 64);
  const std::string pixel = read_file(fs::path(kFixtures) / "image/photos/pixel_1x1.png");
  EXPECT_EQ(post("/v1/classify?size=64", pixel).status, 200);
  EXPECT_EQ(post("/v1/classify?size=65", pixel).status, 400);
  const HttpReply large = post("/v1/classify", photo);  // 320 x 240
  EXPECT_EQ(large.status, 422);
  EXPECT_NE(large.body.find("over the limit of 76799 pixels"), std::string::npos) << large.body;
  EXPECT_EQ(status_of_images(port, 2), 422);
  EXPECT_EQ(status_of_images(port, 3), 413);
  EXPECT_EQ(post("/v1/classify", std::string(300001, 'x')).status, 413);
  EXPECT_EQ(post("/v1/classify", std::string(300000, 'x')).status, 503) << "of all requests";
  EXPECT_EQ(post("/v1/classify", std::string(200000, 'x')).status, 422);
  // Clients learn names, and nothing of the files.
  const HttpReply deep = post("/v1/explain?x=0&y=0&layer=99", pixel);
  EXPECT_EQ(deep.status, 400);
  EXPECT_NE(deep.body.find("layer 99 of pets,"), std::string::npos) << deep.body;
  for (const std::string& text : {models, large.body, deep.body}) {
    EXPECT_EQ(text.find(folder.path().string()), std::string::npos) << text;
  }
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.err(), "") << "there is no log";
}

TEST(ServeProgram, DrawingAndResponsesHaveLimits) {
  const TempDir folder;
  const std::string model = write_model(folder / "mini.safetensors");
  StartedProgram program({kProgram.string(), "serve", "-m", model, "--port", "0", "--threads", "1",
                          "--max-drawn-pixels", "2000000", "--max-responses", "8388608"},
                         folder.path());
  const uint16_t port = served_port(program);
  const auto draw = [&](int side) {
    const std::vector<uint8_t> png = encode_png(Image(side, side));
    return ask(port,
               request_text("POST", "/v1/explain?draw=true", std::string(png.begin(), png.end())));
  };
  EXPECT_EQ(draw(100).status, 200);
  // An eighth of the bytes is for small responses; each pixel may become four bytes.
  const HttpReply large = draw(1400), larger = draw(1500);
  EXPECT_EQ(large.status, 413);
  EXPECT_NE(large.body.find("at most 7340032 in a response (--max-responses)"), std::string::npos)
      << large.body;
  EXPECT_EQ(larger.status, 413);
  EXPECT_NE(larger.body.find("at most 2000000 in a request (--max-drawn-pixels)"),
            std::string::npos)
      << larger.body;
}

// With a token or without one: the secret allows any host, --open any client.
TEST(ServeProgram, LetsInTheConfiguredHosts) {
  const TempDir folder;
  const std::string model = write_model(folder / "mini.safetensors");
  const std::string foreign = "GET /v1/models HTTP/1.1\r\nHost: example.org\r\n";
  {
    StartedProgram closed({"/usr/bin/env", "VIG_TOKEN=secret", kProgram.string(), "serve", "-m",
                           model, "--port", "0", "--threads", "1"},
                          folder.path());
    const uint16_t port = served_port(closed);
    EXPECT_EQ(ask(port, request_text("GET", "/v1/models")).status, 401);
    EXPECT_EQ(ask(port, foreign + "Authorization: Bearer wrong!\r\n\r\n").status, 401);
    EXPECT_EQ(ask(port, foreign + "Authorization: Bearer secret\r\n\r\n").status, 200);
  }
  StartedProgram open({"/usr/bin/env", "-u", "VIG_TOKEN", kProgram.string(), "serve", "-m", model,
                       "--port", "0", "--threads", "1", "--open"},
                      folder.path());
  EXPECT_EQ(ask(served_port(open), foreign + "\r\n").status, 200);
}

TEST(ServeProgram, TheQueueHasItsOwnLimit) {
  const TempDir folder;
  const std::string model = write_model(folder / "mini.safetensors");
  StartedProgram program({kProgram.string(), "serve", "-m", model, "--port", "0", "--threads", "1",
                          "--queue", "300", "--images", "400"},
                         folder.path());
  const uint16_t port = served_port(program);
  EXPECT_EQ(status_of_images(port, 300), 422);
  EXPECT_EQ(status_of_images(port, 301), 413) << "more than may ever wait";
}

TEST(ServeProgram, ListensToOthersOnlyWithATokenOrOpen) {
  const TempDir folder;
  const std::string model = write_model(folder / "mini.safetensors");
  const auto run = [&](std::vector<std::string> arguments, const std::string& token = "") {
    arguments.insert(arguments.begin(), {kProgram.string(), "serve", "-m", model, "--port", "0"});
    return run_program(arguments, {.environment = {"VIG_TOKEN=" + token}});
  };
  const RunResult refused = run({"--listen", "0.0.0.0"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("VIG_TOKEN"), std::string::npos) << refused.err;
  EXPECT_EQ(run({"--listen", "nowhere"}, "x").exit_code, 2);
  EXPECT_EQ(run({"-m", "mini=" + model}).exit_code, 2) << "two of one name";
  EXPECT_EQ(run({"-m", "no such file"}).exit_code, 2);
  // A name ends before the first slash.
  fs::create_directories(folder / "a=b");
  fs::copy_file(model, folder / "a=b/mini.safetensors");
  const RunResult same = run({"-m", (folder / "a=b/mini.safetensors").string()});
  EXPECT_EQ(same.exit_code, 2);
  EXPECT_NE(same.err.find("two models are called mini"), std::string::npos) << same.err;
  EXPECT_EQ(run({"--max-body", "0"}).exit_code, 2);
  EXPECT_EQ(run({"--max-responses", "8388607"}).exit_code, 2);
}

}  // namespace
}  // namespace vig::test
