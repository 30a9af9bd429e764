// ./vig and ./test in a made-up tree, with stand-ins for cmake, ctest, apt-get and dpkg-query.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  return text.substr(text.rfind('\n', end) + 1, end - text.rfind('\n', end));
}

class Launcher : public ::testing::Test {
 protected:
  Launcher() {
    for (const char* file : {"vig", "test", "tools/prepare.sh", "tools/nightly.sh"}) {
      fs::create_directories((tree_ / file).parent_path());
      fs::copy_file(fs::path(kSourceDir) / file, tree_ / file);
    }
    write_file(
        tree_ / "tools/packages.txt",
        "# list\n[engine]\nalpha  # why\nbeta\n[training]\ndelta\n[onnx]\nepsilon\n"
        "[server]\nzeta\n[developer]\ngamma\n[browser]\neta\n[clang]\ntheta\n[tidy]\niota\n");
    for (const char* file :
         {"CMakeLists.txt", "CMakePresets.json", "cmake/a", "src/a.cpp", "src/b"}) {
      write_file(tree_ / file, "");
    }
    stand_in("cmake", R"(
case $1 in
  --build)
    sleep "${BUILD_SECONDS:-0}"
    [ ! -e "$TEMP/broken-source" ] || { echo "a.cpp:1: error"; exit 1; }
    cp "$TEMP/program" "$2/bin/vig"
    if [ -e "$2/training" ]; then cp "$TEMP/program" "$2/bin/vig-train"; fi
    if [ -e "$2/onnx" ]; then cp "$TEMP/program" "$2/bin/vig-onnx"; fi
    if [ -e "$2/server" ]; then cp "$TEMP/program" "$2/bin/vig-serve"; fi
    case " $* " in *' vig-study '*) cp "$TEMP/program" "$2/bin/vig-study" ;; esac ;;
  *)
    [ ! -e "$TEMP/broken-configuration" ] || { echo "no library"; exit 1; }
    for preset; do :; done
    folder=build/$preset
    case $preset in training|onnx|server|study) folder=build/release ;; esac
    mkdir -p "$folder/bin"
    rm -f "$folder/training" "$folder/onnx" "$folder/server"
    touch "$folder/$preset" ;;
esac
echo chatter)");
    stand_in("ctest", "echo \"ctest $*\"; exit 8");
    stand_in("dpkg-query", "[ ! -e \"$TEMP/installed\" ] || cat \"$TEMP/installed\"; exit 1");
    stand_in("apt-get", "[ ! -e \"$TEMP/offline\" ] || { echo 'no network'; exit 100; }");
    stand_in("sudo", "exec \"$@\"");
    write_script(temp_ / "program", "for word; do echo \"<$word>\"; done; exit 5");
    has_installed({"alpha", "beta", "gamma", "delta", "epsilon", "zeta"});
  }

  static void write_script(const fs::path& path, const std::string& body) {
    write_file(path, "#!/bin/sh\n" + body + "\n");
    fs::permissions(path, fs::perms::owner_all);
  }
  void stand_in(const std::string& name, const std::string& body) {
    write_script(temp_ / ("bin/" + name), "echo \"" + name + " $*\" >>\"$TEMP/calls\"\n" + body);
  }
  void has_installed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += "installed " + name + " ";
    write_file(temp_ / "installed", text);
  }

  RunResult run(const std::vector<std::string>& command,
                std::vector<std::string> environment = {}) {
    environment.push_back("TEMP=" + temp_.path().string());
    if (!alone_) environment.push_back("PATH=" + (temp_ / "bin").string() + ":" + getenv("PATH"));
    if (alone_) environment.push_back("PATH=" + (temp_ / "bin").string());
    return run_program(command, {.directory = "/", .environment = environment});
  }
  std::string vig() const { return (tree_ / "vig").string(); }
  std::string calls() const {
    return fs::exists(temp_ / "calls") ? read_file(temp_ / "calls") : "";
  }

  TempDir temp_;
  fs::path tree_ = temp_ / "a tree";
  bool alone_ = false;  // nothing but temp_/bin in PATH
};

TEST_F(Launcher, BuildsOnceAndPassesEverythingThrough) {
  const RunResult first = run({vig(), "one", "two words", ""});
  EXPECT_EQ(first.exit_code, 5) << first.err;
  EXPECT_EQ(first.out, "<one>\n<two words>\n<>\n");
  EXPECT_EQ(count(first.err, "building"), 1) << first.err;
  EXPECT_EQ(count(first.err, "chatter"), 0) << first.err;
  EXPECT_EQ(count(first.err, "for the first time, which took"), 1) << first.err;

  const std::string before = calls();
  const RunResult second = run({vig(), "again"});
  EXPECT_EQ(second.exit_code, 5);
  EXPECT_EQ(second.out, "<again>\n");
  EXPECT_EQ(second.err, "");
  EXPECT_EQ(calls(), before) << "a later call must start at once";
}

TEST_F(Launcher, PrintsHelpWithoutPackagesAndBuild) {
  has_installed({});
  for (const char* page : {"vig", "train", "serve", "bench", "bench-train", "study", "convert"}) {
    write_file(tree_ / "docs/help" / (std::string(page) + ".txt"),
               std::string("help of ") + page + "\n\n  --x %s\n");
  }
  const std::vector<std::pair<std::vector<std::string>, std::string>> calls_and_pages = {
      {{"--help"}, "vig"},
      {{"-h"}, "vig"},
      {{"help"}, "vig"},
      {{"no-command", "--help"}, "vig"},
      {{"../../vig", "--help"}, "vig"},
      {{"train", "--help"}, "train"},
      {{"train", "a b", "--out", "x", "-h"}, "train"},
      {{"-h", "serve"}, "serve"},
      {{"help", "serve"}, "serve"},
      {{"bench", "--help"}, "bench"},
      {{"bench", "vig_t", "--train", "--help"}, "bench-train"},
      {{"study", "erf", "--help"}, "study"},
      {{"convert", "a.pth", "a.onnx", "--help"}, "convert"},
  };
  for (const auto& [arguments, page] : calls_and_pages) {
    std::vector<std::string> command = {vig()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const RunResult result = run(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "help of " + page + "\n\n  --x %s\n") << arguments.front();
    EXPECT_EQ(result.err, "");
  }
  EXPECT_EQ(calls(), "");
  EXPECT_FALSE(fs::exists(tree_ / "build"));
  // After -- it is the name of a file.
  EXPECT_EQ(run({vig(), "classify", "--", "--help"}).out, "<classify>\n<-->\n<--help>\n");
  fs::remove_all(tree_ / "docs");
  EXPECT_EQ(run({vig(), "--help"}).out, "<--help>\n") << "the program knows, too";
}

TEST_F(Launcher, WorksThroughALinkAndFromItsFolder) {
  fs::create_symlink(tree_ / "vig", temp_ / "link");
  EXPECT_EQ(run({(temp_ / "link").string(), "x"}).out, "<x>\n");
  EXPECT_EQ(run({"sh", "-c", "cd '" + tree_.string() + "' && ./vig y && bash vig z"}).out, "<y>\n");
  EXPECT_EQ(run({"sh", "-c", "cd '" + tree_.string() + "' && bash vig z"}).out, "<z>\n");
  EXPECT_EQ(count(calls(), "cmake --build"), 1);
}

TEST_F(Launcher, BuildsAgainAfterAChange) {
  run({vig()});
  const auto builds = [this] { return count(calls(), "cmake --build"); };
  ASSERT_EQ(builds(), 1);
  write_file(tree_ / "src/a.cpp", "changed");
  EXPECT_EQ(count(run({vig()}).err, "for the first time"), 0);
  EXPECT_EQ(builds(), 2);
  fs::remove(tree_ / "src/b");
  run({vig()});
  EXPECT_EQ(builds(), 3);
  fs::remove(tree_ / "build/release/bin/vig");
  EXPECT_EQ(run({vig()}).exit_code, 5);
  EXPECT_EQ(builds(), 4);
}

TEST_F(Launcher, SaysWhyABuildFailed) {
  for (const char* trouble : {"broken-source", "broken-configuration"}) {
    write_file(temp_ / trouble, "");
    const RunResult result = run({vig()});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(count(last_line(result.err), "build/release.log"), 1) << result.err;
    EXPECT_EQ(count(result.err, "a.cpp:1: error") + count(result.err, "no library"), 1);
    fs::remove(temp_ / trouble);
  }
  EXPECT_EQ(run({vig()}).exit_code, 5) << "a failure must not last";
}

TEST_F(Launcher, InstallsOnlyWhatIsMissing) {
  has_installed({"alpha"});
  const RunResult result = run({vig()});
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_EQ(count(calls(), " update\n"), 1) << calls();
  EXPECT_EQ(count(calls(), " install --no-install-recommends beta\n"), 1) << calls();
  EXPECT_EQ(count(result.err, "installing Debian packages: beta\n"), 1) << result.err;

  has_installed({"alpha", "beta"});
  run({vig()});
  EXPECT_EQ(count(calls(), "apt-get"), 2) << "only training and tests need the others";
  run({(tree_ / "test").string(), "--sanitised"});
  EXPECT_EQ(count(calls(), " install --no-install-recommends zeta gamma\n"), 1) << calls();
  run({(tree_ / "test").string()});
  EXPECT_EQ(count(calls(), " install --no-install-recommends delta epsilon zeta gamma\n"), 1)
      << calls();
  run({(tree_ / "test").string(), "--browser"});
  EXPECT_EQ(count(calls(), " install --no-install-recommends delta epsilon zeta gamma eta\n"), 1)
      << calls();
}

TEST_F(Launcher, BuildsTrainingOnlyForThoseWhoTrain) {
  has_installed({"alpha", "beta"});
  const auto builds = [this](const char* preset) {
    return count(calls(), std::string("cmake --preset ") + preset + "\n");
  };
  EXPECT_EQ(run({vig(), "classify", "train", "--train"}).out, "<classify>\n<train>\n<--train>\n");
  EXPECT_EQ(run({vig(), "bench", "vig_t"}).exit_code, 5);
  EXPECT_EQ(builds("release"), 1);
  EXPECT_EQ(builds("training"), 0);

  const RunResult first = run({vig(), "train", "a b", "--out=x"});
  EXPECT_EQ(first.out, "<train>\n<a b>\n<--out=x>\n") << "vig itself hands it on";
  EXPECT_EQ(count(first.err, "installing Debian packages: delta\n"), 1) << first.err;
  EXPECT_EQ(builds("training"), 1);
  EXPECT_EQ(run({vig(), "bench", "vig_t", "--train"}).err, "");
  EXPECT_EQ(run({vig(), "train"}).err, "");
  EXPECT_EQ(run({vig(), "classify"}).err, "") << "the engine was built along";
  EXPECT_EQ(builds("training"), 1);
  EXPECT_EQ(builds("release"), 1);

  write_file(tree_ / "src/a.cpp", "changed");
  run({vig(), "classify"});
  EXPECT_EQ(builds("release"), 2);
  EXPECT_EQ(builds("training"), 1);
  run({vig(), "train"});
  EXPECT_EQ(builds("release"), 2);
  EXPECT_EQ(builds("training"), 2);
  fs::remove(tree_ / "build/release/bin/vig-train");
  EXPECT_EQ(run({vig(), "classify"}).err, "");
  EXPECT_EQ(run({vig(), "train"}).exit_code, 5);
  EXPECT_EQ(builds("training"), 3);
}

TEST_F(Launcher, BuildsTheWriterOfOnnxFilesOnlyForThem) {
  has_installed({"alpha", "beta"});
  const auto builds = [this](const char* preset) {
    return count(calls(), std::string("cmake --preset ") + preset + "\n");
  };
  EXPECT_EQ(run({vig(), "convert", "x.pth", "x.safetensors"}).exit_code, 5);
  EXPECT_EQ(run({vig(), "classify", "x.onnx"}).exit_code, 5);
  EXPECT_EQ(builds("onnx"), 0);
  const RunResult first = run({vig(), "convert", "x.pth", "a b.onnx", "--ort"});
  EXPECT_EQ(first.out, "<convert>\n<x.pth>\n<a b.onnx>\n<--ort>\n") << "vig itself hands it on";
  EXPECT_EQ(count(first.err, "installing Debian packages: epsilon\n"), 1) << first.err;
  EXPECT_EQ(builds("onnx"), 1);
  EXPECT_EQ(run({vig(), "convert", "x.onnx"}).err, "");
  EXPECT_EQ(run({vig(), "classify"}).err, "") << "the engine was built along";
  run({vig(), "train"});
  EXPECT_EQ(run({vig(), "convert", "x.onnx"}).err, "") << "both helpers stay";
  EXPECT_EQ(builds("onnx"), 1);
  EXPECT_EQ(builds("release"), 1);
}

TEST_F(Launcher, BuildsTheServerOnlyToServe) {
  has_installed({"alpha", "beta"});
  const auto builds = [this] { return count(calls(), "cmake --preset server\n"); };
  EXPECT_EQ(run({vig(), "classify", "serve"}).exit_code, 5);
  EXPECT_EQ(builds(), 0);
  const RunResult first = run({vig(), "serve", "--port", "0"});
  EXPECT_EQ(first.out, "<serve>\n<--port>\n<0>\n") << "vig itself hands it on";
  EXPECT_EQ(count(first.err, "installing Debian packages: zeta\n"), 1) << first.err;
  EXPECT_EQ(run({vig(), "serve"}).err, "");
  EXPECT_EQ(builds(), 1);
}

TEST_F(Launcher, BuildsStudiesOnlyForThoseWhoAsk) {
  const auto study = [this] { return fs::exists(tree_ / "build/release/bin/vig-study"); };
  EXPECT_EQ(run({vig(), "classify", "study"}).exit_code, 5);
  EXPECT_FALSE(study());
  const RunResult first = run({vig(), "study", "efficiency"});
  EXPECT_EQ(first.out, "<study>\n<efficiency>\n") << "vig itself hands it on";
  EXPECT_EQ(count(first.err, "compiling vig-study for the first time"), 1) << first.err;
  EXPECT_TRUE(study());
  EXPECT_EQ(run({vig(), "study", "throughput"}).err, "");
  EXPECT_EQ(run({vig(), "classify"}).err, "");
  write_file(tree_ / "src/a.cpp", "changed");
  EXPECT_EQ(run({vig(), "classify"}).exit_code, 5);
  EXPECT_EQ(count(calls(), " vig-study\n"), 1) << calls();
  EXPECT_EQ(run({vig(), "study", "throughput"}).exit_code, 5);
  EXPECT_EQ(count(calls(), " vig-study\n"), 2) << "its own build is older than the change";
}

TEST_F(Launcher, BuildsWhatAStudyStarts) {
  const auto builds = [this](const char* preset) {
    return count(calls(), std::string("cmake --preset ") + preset + "\n");
  };
  EXPECT_EQ(run({vig(), "study", "efficiency"}).out, "<study>\n<efficiency>\n");
  EXPECT_EQ(run({vig(), "study", "throughput", "--out", "erf2"}).exit_code, 5);
  EXPECT_EQ(builds("training") + builds("onnx"), 0);
  EXPECT_EQ(run({vig(), "study", "erf"}).exit_code, 5);
  EXPECT_EQ(builds("training"), 1) << "it trains or differentiates networks";
  EXPECT_EQ(run({vig(), "study", "overfit"}).err, "");
  EXPECT_EQ(run({vig(), "train"}).err, "") << "the program for training was built along";
  fs::create_directories(tree_ / "build/baselines/node_modules/onnxruntime-node");
  EXPECT_EQ(run({vig(), "study", "throughput"}).exit_code, 5);
  EXPECT_EQ(builds("onnx"), 0);
  EXPECT_EQ(run({vig(), "study", "efficiency"}).exit_code, 5);
  EXPECT_EQ(builds("onnx"), 1) << "it gives a network to ONNX Runtime";
}

TEST_F(Launcher, SaysWhyTrainingWasNotBuilt) {
  ASSERT_EQ(run({vig()}).exit_code, 5);
  write_file(temp_ / "broken-configuration", "");
  const RunResult result = run({vig(), "train"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(count(last_line(result.err), "build/training.log"), 1) << result.err;
  EXPECT_EQ(run({vig()}).exit_code, 5) << "the engine stays";
}

TEST_F(Launcher, CanLeavePackagesAlone) {
  has_installed({});
  EXPECT_EQ(run({vig()}, {"VIG_NO_INSTALL=1"}).exit_code, 5);
  EXPECT_EQ(count(calls(), "apt-get"), 0);
}

// On a terminal, where `typed` is typed.
class LauncherOnATerminal : public Launcher {
 protected:
  RunResult type(const std::string& typed, const std::string& script = "vig") {
    const std::string command = "PATH='" + (temp_ / "bin").string() + "':\"$PATH\" TEMP='" +
                                temp_.path().string() + "' '" + (tree_ / script).string() + "'";
    return run_program({"script", "-qec", command, "/dev/null"}, {.input = typed});
  }
};

TEST_F(LauncherOnATerminal, EnterInstallsWhatIsMissing) {
  has_installed({"alpha"});
  for (const char* yes : {"\n", "y\n", "Yes\n"}) {
    fs::remove_all(tree_ / "build");
    fs::remove(temp_ / "calls");
    const RunResult result = type(yes);
    EXPECT_EQ(result.exit_code, 5) << result.out;
    EXPECT_EQ(count(result.out, "not installed: beta"), 1) << result.out;
    EXPECT_EQ(count(result.out, "[Y/n]"), 1) << "asked once: " << result.out;
    EXPECT_EQ(count(calls(), " install --no-install-recommends beta\n"), 1) << calls();
  }
  const RunResult tests = type("\n", "test");
  EXPECT_EQ(tests.exit_code, 8) << tests.out;
  EXPECT_EQ(count(calls(), " install --no-install-recommends beta delta epsilon zeta gamma\n"), 1)
      << calls();
}

TEST_F(LauncherOnATerminal, NoSaysWhatToInstallByHand) {
  has_installed({"alpha"});
  for (const char* no : {"n\n", "No\n", "what?\n", ""}) {  // the last one: Ctrl-D
    const RunResult result = type(no);
    EXPECT_EQ(result.exit_code, 1) << result.out;
    EXPECT_EQ(count(last_line(result.out), "apt-get install --no-install-recommends beta"), 1)
        << result.out;
  }
  EXPECT_EQ(count(calls(), "apt-get"), 0) << calls();
  EXPECT_EQ(count(calls(), "cmake"), 0) << "nothing is built: " << calls();
}

TEST_F(LauncherOnATerminal, NothingIsAskedIfNothingIsMissing) {
  const RunResult result = type("");
  EXPECT_EQ(result.exit_code, 5) << result.out;
  EXPECT_EQ(count(result.out, "[Y/n]"), 0) << result.out;
}

TEST_F(Launcher, SaysWhatItCouldNotInstall) {
  has_installed({"alpha"});
  write_file(temp_ / "offline", "");
  const RunResult result = run({vig()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(count(last_line(result.err), "could not install beta"), 1) << result.err;
  EXPECT_EQ(count(result.err, "no network"), 2) << result.err;
}

TEST_F(Launcher, NamesThePackagesWhereThereIsNoApt) {
  for (const char* name : {"apt-get", "dpkg-query", "sudo"}) fs::remove(temp_ / "bin" / name);
  for (const char* name : {"bash", "cat", "cp", "dirname", "find", "flock", "grep", "mkdir", "mv",
                           "nproc", "readlink", "sh", "sleep", "tail"}) {
    const std::string path = run_program({"sh", "-c", std::string("command -v ") + name}).out;
    fs::create_symlink(path.substr(0, path.size() - 1), temp_ / "bin" / name);
  }
  alone_ = true;
  EXPECT_EQ(run({vig()}).exit_code, 5) << "the libraries may be installed otherwise";

  fs::remove_all(tree_ / "build");
  write_file(temp_ / "broken-configuration", "");
  EXPECT_EQ(count(last_line(run({vig()}).err), "packages, or what your system calls them"), 1);
  fs::remove(temp_ / "bin/cmake");
  const RunResult result = run({vig()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(count(last_line(result.err), ": alpha beta."), 1) << result.err;
}

TEST_F(Launcher, TwoAtOnceBuildOnce) {
  const auto start = [this] { return run({vig(), "x"}, {"BUILD_SECONDS=0.3"}); };
  std::future<RunResult> other = std::async(std::launch::async, start);
  EXPECT_EQ(start().out, "<x>\n");
  EXPECT_EQ(other.get().out, "<x>\n");
  EXPECT_EQ(count(calls(), "cmake --build"), 1) << calls();
}

// They build in different folders, but there is one apt-get.
TEST_F(Launcher, TwoAtOnceInstallOneAfterTheOther) {
  has_installed({"alpha"});
  stand_in("apt-get", R"(
mkdir "$TEMP/apt-is-at-work" || { touch "$TEMP/clash"; exit 100; }
sleep 0.3
while [ $# -gt 0 ] && [ "$1" != --no-install-recommends ]; do shift; done
if [ $# -gt 0 ]; then shift; fi
for name; do
  echo "installed $name " >>"$TEMP/installed"
  echo "got $name" >>"$TEMP/calls"
done
rmdir "$TEMP/apt-is-at-work")");
  const auto start = [this](const char* script) { return run({(tree_ / script).string()}); };
  std::future<RunResult> other = std::async(std::launch::async, start, "test");
  EXPECT_EQ(start("vig").exit_code, 5);
  const RunResult tests = other.get();
  EXPECT_EQ(tests.exit_code, 8) << tests.err;
  EXPECT_FALSE(fs::exists(temp_ / "clash")) << calls();
  for (const char* name : {"beta", "gamma", "delta", "epsilon", "zeta"}) {
    EXPECT_EQ(count(calls(), std::string("got ") + name + "\n"), 1) << calls();
  }
}

TEST_F(Launcher, TestEndsAsCtestDoes) {
  const RunResult plain = run({(tree_ / "test").string(), "-R", "a b"});
  EXPECT_EQ(plain.exit_code, 8) << plain.err;
  EXPECT_EQ(count(plain.out, "ctest --test-dir " + (tree_ / "build/developer").string() + " "), 1);
  EXPECT_EQ(count(plain.out, " -R a b\n"), 1) << plain.out;
  const RunResult sanitised = run({(tree_ / "test").string(), "--sanitised"});
  EXPECT_EQ(count(sanitised.out, "build/sanitised "), 1) << sanitised.out;
  EXPECT_EQ(count(sanitised.out, "--sanitised"), 0) << sanitised.out;
  EXPECT_EQ(run({(tree_ / "test").string(), "--help"}).exit_code, 0);
}

TEST_F(Launcher, BrowserTestsRunOnWhatIsBuilt) {
  write_file(tree_ / "tests/browser/page_test.py",
             "import os, sys\n"
             "print(os.environ['VIG_BINARY'], os.environ['VIG_SOURCE_DIR'], *sys.argv[1:])\n"
             "sys.exit(3)\n");
  const RunResult result = run({(tree_ / "test").string(), "--browser", "-k", "phone"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_EQ(count(calls(), " --target browser_test\n"), 1) << calls();
  EXPECT_EQ(count(result.out, (tree_ / "build/developer/bin/vig").string() + " " + tree_.string() +
                                  " -k phone\n"),
            1)
      << result.out;
}

TEST_F(Launcher, TestTriesThePackages) {
  write_file(tree_ / "tools/check_packages.sh", "#!/bin/sh\necho tried\nexit 3\n");
  fs::permissions(tree_ / "tools/check_packages.sh", fs::perms::owner_all);
  const RunResult result = run({(tree_ / "test").string(), "--packages"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_EQ(result.out, "tried\n");
  EXPECT_EQ(calls(), "");
}

TEST_F(Launcher, TestBuildsOnlyTheFoldersItRuns) {
  for (const char* file : {"image/a_test.cpp", "image/b_test.cpp", "data/a_test.cpp",
                           "weights/a_test.cpp", "support/a.cpp"}) {
    write_file(tree_ / "tests" / file, "");
  }
  const std::string test = (tree_ / "test").string();
  const RunResult two = run({test, "--sanitised", "-L", "^(image|weights|support)$"});
  EXPECT_EQ(count(calls(), " --target image_test weights_test\n"), 1) << calls();
  EXPECT_EQ(count(two.out, " -L ^(image|weights|support)$\n"), 1) << two.out;
  run({test, "-R", "image"});
  EXPECT_EQ(count(calls(), " --target"), 1) << "other tests may match as well";
}

TEST_F(Launcher, TestWatchesTheFoldersThatHaveThreads) {
  for (const char* folder : {"base", "cli", "data", "pipeline", "runtime", "serve"}) {
    write_file(tree_ / "tests" / folder / "a_test.cpp", "");
  }
  const std::string test = (tree_ / "test").string();
  const RunResult all = run({test, "--threads", "-R", "Team"});
  EXPECT_EQ(all.exit_code, 8) << all.err;
  EXPECT_EQ(count(calls(), " --target base_test data_test pipeline_test runtime_test serve_test\n"),
            1)
      << calls();
  EXPECT_EQ(count(all.out, "/build/threads "), 1) << all.out;
  EXPECT_EQ(count(all.out, " -L ^(base|data|runtime|pipeline|serve)$ -R Team\n"), 1) << all.out;
  const RunResult one = run({test, "--threads", "-L", "cli"});
  EXPECT_EQ(count(calls(), " --target cli_test\n"), 1) << calls();
  EXPECT_EQ(count(one.out, "-L "), 1) << one.out;
}

TEST_F(Launcher, TestCompilesWithClangAndRunsNothing) {
  const RunResult result = run({(tree_ / "test").string(), "--clang"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(count(calls(), " install --no-install-recommends theta\n"), 1) << calls();
  EXPECT_EQ(count(calls(), "--preset clang\n"), 1) << calls();
  EXPECT_EQ(count(calls(), " --target all vig-study\n"), 1) << calls();
  EXPECT_EQ(count(calls(), "ctest"), 0) << calls();
  write_file(temp_ / "broken-source", "");
  EXPECT_EQ(run({(tree_ / "test").string(), "--clang"}).exit_code, 1);
}

TEST_F(Launcher, TestChecksWithClangTidy) {
  stand_in("run-clang-tidy", "exit 4");
  EXPECT_EQ(run({(tree_ / "test").string(), "--tidy"}).exit_code, 4);
  EXPECT_EQ(count(calls(), " install --no-install-recommends theta iota\n"), 1) << calls();
  EXPECT_EQ(count(calls(), " -p " + (tree_ / "build/tidy").string() + " "), 1) << calls();
  EXPECT_EQ(count(calls(), "--build"), 0) << calls();
  run({(tree_ / "test").string(), "--tidy", "base/zip"});
  EXPECT_EQ(count(calls(), " base/zip\n"), 1) << calls();
}

TEST_F(Launcher, TestCountsCoveredLinesAlsoWhereTestsFail) {
  write_file(tree_ / "tools/coverage.py", "import sys\nprint('table of', *sys.argv[1:])\n");
  write_file(tree_ / "build/coverage/old.gcda", "");
  const RunResult result = run({(tree_ / "test").string(), "--coverage", "-R", "x"});
  EXPECT_EQ(result.exit_code, 8) << result.err;
  EXPECT_EQ(count(result.out, "table of " + (tree_ / "build/coverage").string() + "\n"), 1)
      << result.out;
  EXPECT_FALSE(fs::exists(tree_ / "build/coverage/old.gcda")) << "counts of another run";
}

TEST_F(Launcher, NightlyRunsItsPartsAndPrintsATable) {
  const std::string test = (tree_ / "test").string();
  EXPECT_EQ(run({test, "--nightly", "daily"}).exit_code, 2);
  EXPECT_EQ(calls(), "");
  stand_in("ctest", "echo '100% tests passed, 0 tests failed out of 7'");
  const RunResult good = run({test, "--nightly", "clang", "tests"});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_EQ(count(good.out, "| tests | `./test` | passed | 7 tests, 0 failed | 0 min |"), 1)
      << good.out;
  stand_in("ctest", "echo '50% tests passed, 4 tests failed out of 8'; exit 8");
  const RunResult bad = run({test, "--nightly", "tests"});
  EXPECT_EQ(bad.exit_code, 1) << bad.err;
  EXPECT_EQ(count(bad.out, "| tests | `./test` | failed (8) | 8 tests, 4 failed |"), 1) << bad.out;
  EXPECT_EQ(count(bad.out, "| clang | `./test --clang` | passed |"), 1) << "of the call before";
}

}  // namespace
}  // namespace vig::test
