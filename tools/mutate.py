#!/usr/bin/env python3
"""Mutants: small errors put into the C++ sources of src/vig, to see whether the tests find them.

Each mutant changes one position of one .cpp file in a copy of the tree below build/mutants. The file is compiled,
linked into the test program of its folder and the programs that this runs, and the tests nearest to the file run
first. A mutant is caught when a test fails, crashes or takes too long, and survives when all pass. A mutant that
does not compile is not counted. See docs/testing.md.
"""

import argparse
import contextlib
import csv
import hashlib
import json
import os
import pathlib
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # nothing is left beside the scripts
from mutants import mutants_of, sample  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Folders below src/vig whose tests are not those of tests/FOLDER; the longest that fits holds.
TESTS = {
    "kernels/backward": "kernels",
    "kernels/reference": "kernels",
    "torch": "train",
    "cli/train": "train",
    "cli/serve": "serve",
    "cli/onnx": "onnx",
    "bindings/c": "c",
    "bindings/python": "python",
}

# These load libvig, which ninja makes again; the others are linked here.
THROUGH_NINJA = ("c", "python")

# ---- how programs are made ----


class Commands:
    """What ninja would run to make a test program and the programs that it runs."""

    def __init__(self, text, root):
        self.root = root
        self.compile = []  # (sources, object, command)
        self.archive_of = {}  # by object
        self.link = {}  # by program, bin/NAME
        for line in text.splitlines():
            compiled = re.search(r" -o (\S+\.o) -c (\S+)$", line)
            if compiled:
                self.compile.append((self.sources(compiled.group(2)), compiled.group(1), line))
                continue
            for part in line.split(" && "):
                archived = re.match(r"\S*ar qc (\S+) (.*)", part)
                if archived:
                    self.archive_of.update(dict.fromkeys(archived.group(2).split(), archived.group(1)))
                linked = re.search(r" -o (bin/\S+) ", part)
                if linked:
                    self.link[linked.group(1)] = part

    def sources(self, compiled):
        """The file, or those of the group that it includes (vig_groups of cmake/targets.cmake)."""
        if not re.search(r"/groups/[^/]+/\d+\.cpp$", compiled):
            return [compiled]
        included = re.findall(r'^#include "(.+)"$', pathlib.Path(compiled).read_text(), re.MULTILINE)
        return [f"{self.root}/src/{name}" for name in included]

    def compile_mutant(self, source, folder):
        """(object of the build, object of the mutant, command) for each target that compiles the file."""
        made = []
        for sources, built, command in self.compile:
            if source not in sources:
                continue
            mutant = f"{folder}/{len(made)}.o"
            command = re.sub(r"^.*\bccache ", "", command)  # no mutant comes twice
            command = re.sub(r" -MD -MT \S+ -MF \S+", "", command).replace(f" -o {built} ", f" -o {mutant} ")
            if " -include " not in command:  # precompiled headers hold for one level
                command = command.replace(" -O3 ", " -O1 ")
            made.append((built, mutant, command))
        return made

    def link_mutant(self, objects, linker):
        """The link command by program, of those that contain any of the objects (by object of the build)."""
        made = {}
        for program, command in self.link.items():
            changed = command
            for built, mutant in objects.items():
                if f" {built} " in changed:
                    changed = changed.replace(f" {built} ", f" {mutant} ")
                elif built in self.archive_of and f" {self.archive_of[built]} " in command + " ":
                    # Before the archive, whose own object nobody asks for then.
                    changed = changed.replace(f" -o {program} ", f" {mutant} -o {program} ")
            if changed != command:
                made[program] = changed.replace(f" -o {program} ", f" -o {program}.mutant {linker} ")
        return made


def fastest_linker():
    for name in ("mold", "lld", "gold"):
        if shutil.which("mold" if name == "mold" else "ld." + name):
            return "-fuse-ld=" + name
    return ""


# ---- the tree ----


def tree_files(root):
    """The files that git tracks or would; in a copy without git all but those of builds."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    except OSError:
        listed = b""
    names = os.fsdecode(listed).split("\0")
    if "CMakeLists.txt" not in names:
        names = [str(path.relative_to(root)) for top in root.iterdir() if top.name not in (".git", "build")
                 for path in ([top] if top.is_file() else top.rglob("*"))]
    return sorted(name for name in set(names) if name and (root / name).is_file())


def tree_hash(root, files):
    """Of what the tests depend on."""
    total = hashlib.sha256()
    for name in files:
        if name.startswith(("docs/", "tools/", "bench/", "packaging/")) or name.endswith(".md"):
            continue
        total.update(name.encode() + b"\0" + hashlib.sha256((root / name).read_bytes()).digest())
    return total.hexdigest()


def folder_of(file):
    """The folder below src/vig that a file counts for."""
    path = file.removeprefix("src/vig/")
    for folder in sorted(TESTS, key=len, reverse=True):
        if path.startswith(folder + "/"):
            return folder
    return path.split("/")[0]


def tests_of(file):
    return TESTS.get(folder_of(file), folder_of(file))


class Stopped(Exception):
    """Ctrl-C."""


class Tree:
    """A copy of the tree with a build of its own, in which one mutant at a time is tested."""

    def __init__(self, root, folder, files, options, stop):
        self.root, self.folder, self.files = root, folder, files
        self.options, self.stop = options, stop
        self.commands, self.built = {}, set()  # by tests
        self.build = folder / "build/developer"
        self.scratch = folder.parent / (folder.name + ".tmp")

    def prepare(self):
        """Copies what differs, removes what is gone, and configures."""
        self.folder.mkdir(parents=True, exist_ok=True)
        wanted = set(self.files)
        for folder, inner, names in os.walk(self.folder):
            if folder == str(self.folder) and "build" in inner:
                inner.remove("build")
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.folder) not in wanted:
                    os.unlink(path)
        for name in self.files:
            source, copy = self.root / name, self.folder / name
            if copy.is_file() and copy.read_bytes() == source.read_bytes():
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
        for kept in self.build.glob("bin/*.kept"):  # of a run that was killed
            kept.replace(kept.with_suffix(""))
        status, text, _ = self.run(["cmake", "--preset", "developer"], self.folder, 1800)
        if status != 0:
            raise SystemExit(f"mutate.py: the copy of the tree cannot be configured:\n{text}")

    def run(self, command, directory, limit, for_tests=False, processor_limit=None):
        """Exit status (None: took too long), what it said, and the seconds of processor time it took."""

        def limits():
            if processor_limit:
                resource.setrlimit(resource.RLIMIT_CPU, (int(processor_limit) + 1, int(processor_limit) + 2))
            if for_tests:  # a wrong constant may ask for any amount
                memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        self.scratch.mkdir(parents=True, exist_ok=True)
        environment = dict(os.environ, TMPDIR=str(self.scratch))
        begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(self.scratch / "output", "w+b") as output:
            process = subprocess.Popen(
                command, cwd=directory, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env=environment, start_new_session=True, preexec_fn=limits,
            )
            status = None
            try:
                while status is None and time.monotonic() - begin < limit and not self.stop.is_set():
                    try:
                        status = process.wait(0.2)
                    except subprocess.TimeoutExpired:
                        pass
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)  # with the programs that it started
                except ProcessLookupError:
                    pass
                process.wait()
            if self.stop.is_set():
                raise Stopped
            output.seek(0)
            text = output.read().decode(errors="replace")
        if for_tests:
            shutil.rmtree(self.scratch, ignore_errors=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return status, text, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def make(self, tests):
        jobs = max(1, (os.cpu_count() or 1) // self.options.workers)
        command = ["ninja", "-C", str(self.build), f"-j{jobs}", tests + "_test"]
        return self.run(command, self.folder, 4 * 3600)[:2]

    def program(self, tests):
        return str(self.build / "bin" / (tests + "_test"))

    def report(self, tests, more):
        """The JSON of a test program."""
        file = self.folder.parent / (self.folder.name + ".json")
        file.unlink(missing_ok=True)
        self.run([self.program(tests), f"--gtest_output=json:{file}", *more], self.folder, 4 * 3600, True)
        if not file.exists():
            raise SystemExit(f"mutate.py: {tests}_test does not finish without a mutant")
        return json.loads(file.read_text())["testsuites"]

    def baseline(self, tests):
        """Builds without a mutant. The suites by name: their files; seconds and failing tests once measured."""
        status, text = self.make(tests)
        if status != 0:
            raise SystemExit(f"mutate.py: {tests}_test does not build without a mutant:\n{text}")
        if tests == "python":
            status, text, seconds = self.run(self.ctest(tests), self.folder, 4 * 3600, True)
            if status != 0:
                raise SystemExit(f"mutate.py: the tests of python fail without a mutant:\n{text}")
            return {"seconds": seconds}
        suites = {}
        for suite in self.report(tests, ["--gtest_list_tests"]):
            # Relative to any folder, where the compiler cache had the object.
            files = {"tests/" + one["file"].rpartition("/tests/")[2] for one in suite["testsuite"] if "file" in one}
            suites[suite["name"]] = {"files": sorted(files)}
        return {"suites": suites}

    def measure(self, tests, suites, names):
        """Runs those of the suites that were not run yet without a mutant. Gives the tests that fail."""
        new = [name for name in names if "seconds" not in suites[name]]
        if not new:
            return []
        failing = []
        for name in new:
            suites[name].update(seconds=0.0, failing=[])  # a suite that is skipped is not in the report
        for suite in self.report(tests, ["--gtest_filter=" + ":".join(name + ".*" for name in new)]):
            known = suites[suite["name"]]
            known["seconds"] = float(suite["time"].rstrip("s"))
            known["failing"] = [f"{suite['name']}.{one['name']}" for one in suite["testsuite"] if one.get("failures")]
            failing += known["failing"]
        return failing

    def ctest(self, tests):
        return ["ctest", "--test-dir", str(self.build), "-L", f"^{tests}$", "--stop-on-failure", "--output-on-failure"]

    def nearest(self, file, suites):
        """The suites of test files that are called like the mutated file or include its header."""
        path = pathlib.PurePath(file)
        header = '"' + str(path.with_suffix(".h")).removeprefix("src/") + '"'
        near = set()
        for name, suite in suites.items():
            for test in suite["files"]:
                stem = pathlib.PurePath(test).stem
                if stem == path.stem + "_test" or header in (self.folder / test).read_text(errors="replace"):
                    near.add(name)
        return near

    def build_mutant(self, mutant, tests):
        """The programs with the mutant, or None if it does not compile. The source is left as it was."""
        path = self.folder / mutant.file
        source = path.read_text()
        try:
            path.write_text(source[: mutant.start] + mutant.text + source[mutant.end :])
            if tests not in self.commands:
                listed = self.run(["ninja", "-C", str(self.build), "-t", "commands", tests + "_test"], self.folder, 600)
                self.commands[tests] = Commands(listed[1], self.folder)
            commands, objects = self.commands[tests], {}
            made = self.folder.parent / (self.folder.name + ".objects")
            made.mkdir(exist_ok=True)
            for built, new, command in commands.compile_mutant(str(path), made):
                if self.run(["sh", "-c", command], self.build, 1800)[0] != 0:
                    return None
                objects[built] = new
        finally:
            path.write_text(source)
        programs = []
        for program, command in commands.link_mutant(objects, fastest_linker()).items():
            status, text, _ = self.run(["sh", "-c", command], self.build, 600)
            if status != 0:
                raise SystemExit(f"mutate.py: {program} cannot be linked:\n{text}")
            programs.append(self.build / program)
        if not programs:
            raise SystemExit(f"mutate.py: {tests}_test runs no program with {mutant.file}")
        return programs

    @contextlib.contextmanager
    def exchanged(self, programs):
        """The programs with the mutant, while it lasts."""
        for program in programs:
            program.rename(f"{program}.kept")
            os.rename(f"{program}.mutant", program)
        try:
            yield
        finally:
            for program in programs:
                program.rename(f"{program}.mutant")
                os.rename(f"{program}.kept", program)

    def test(self, mutant, baseline, keep):
        """caught, survived or "does not build", with a word on why. `keep` stores what was measured."""
        tests = tests_of(mutant.file)
        if tests in THROUGH_NINJA:
            return self.test_through_ninja(mutant, tests, baseline)
        programs = self.build_mutant(mutant, tests)
        if programs is None:
            return "does not build", ""
        suites = baseline["suites"]
        near = self.nearest(mutant.file, suites)
        left = self.options.seconds
        for chosen in (sorted(near), sorted(set(suites) - near)):
            for name in self.measure(tests, suites, chosen):
                print(f"left out: {name} fails without a mutant", flush=True)
            keep()
            run = []
            for name in sorted(chosen, key=lambda one: suites[one]["seconds"]):
                if chosen == sorted(near) or suites[name]["seconds"] <= left:
                    run.append(name)
                    left -= suites[name]["seconds"]
            if not run:
                continue
            with self.exchanged(programs):
                verdict = self.verdict(self.filtered(tests, suites, run), sum(suites[name]["seconds"] for name in run))
            if verdict:
                return verdict
        skipped = len(chosen) - len(run)
        return "survived", f"{skipped} suites not run" if skipped else ""

    def filtered(self, tests, suites, names):
        patterns = ":".join(name + ".*" for name in names)
        failing = [test for name in names for test in suites[name]["failing"]]
        if failing:
            patterns += "-" + ":".join(failing)
        return [self.program(tests), "--gtest_fail_fast", "--gtest_brief=1", f"--gtest_filter={patterns}"]

    def test_through_ninja(self, mutant, tests, baseline):
        path = self.folder / mutant.file
        source = path.read_text()
        try:
            path.write_text(source[: mutant.start] + mutant.text + source[mutant.end :])
            if self.make(tests)[0] != 0:
                return "does not build", ""
            if tests == "python":
                return self.verdict(self.ctest(tests), baseline["seconds"]) or ("survived", "")
            command = [self.program(tests), "--gtest_fail_fast", "--gtest_brief=1"]
            return self.verdict(command, 60) or ("survived", "")
        finally:
            path.write_text(source)

    def verdict(self, command, normal_seconds):
        """By processor time, as the machine may have other work; by the clock for what stands still."""
        limit = 10 + self.options.patience * normal_seconds
        status, text, _ = self.run(command, self.folder, 60 + 4 * limit, True, limit)
        if status == 0:
            return None
        if status in (None, -signal.SIGXCPU, -signal.SIGKILL):
            return "caught", f"takes more than {limit:.0f} s"
        failed = re.search(r"\[  FAILED  \] ([\w/]+\.[\w/]+)|\d+ - (\S+) \((?:Failed|Timeout)", text)
        return "caught", (failed.group(1) or failed.group(2)) if failed else f"status {status}"


# ---- the run ----


class Results:
    """What was found, kept in a file while the tree is the same."""

    def __init__(self, folder, content):
        self.file, self.content = folder / "results.json", content
        self.lock, self.measuring = threading.Lock(), threading.Lock()
        try:
            self.data = json.loads(self.file.read_text())
        except (OSError, ValueError):
            self.data = {}
        if self.data.get("tree") != content:
            self.data = {"tree": content, "baselines": {}, "mutants": {}}

    def keep(self, part, key, value):
        with self.lock:
            self.data[part][key] = value
            self.file.parent.mkdir(parents=True, exist_ok=True)
            written = self.file.with_suffix(".tmp")
            written.write_text(json.dumps(self.data, indent=1))
            written.replace(self.file)

    def of(self, mutant):
        return self.data["mutants"].get(mutant.id)


def show(mutant):
    return f"{mutant.file}:{mutant.line} {mutant.kind}"


def diff(mutant):
    lines = ["-" + line for line in mutant.before.split("\n")] + ["+" + line for line in mutant.after.split("\n")]
    return "\n".join("    " + line for line in lines)


def say(mutant, verdict):
    status, why = verdict["status"], verdict["why"]
    print(f"{status:15}{show(mutant)}{f' ({why})' if why else ''}", flush=True)
    if status == "survived":
        print(diff(mutant), flush=True)


def work(tree, todo, results, failures):
    """A worker: takes mutants until there are none."""
    try:
        tree.prepare()
        while not tree.stop.is_set():
            try:
                mutant = todo.get_nowait()
            except queue.Empty:
                return
            tests = tests_of(mutant.file)
            with results.measuring:
                baseline = results.data["baselines"].get(tests)
                if baseline is None or tests not in tree.built:
                    made = tree.baseline(tests)
                    baseline = baseline or made
                    tree.built.add(tests)
                    results.keep("baselines", tests, baseline)
            status, why = tree.test(mutant, baseline, lambda: results.keep("baselines", tests, baseline))
            verdict = {"status": status, "why": why}
            results.keep("mutants", mutant.id, verdict)
            say(mutant, verdict)
    except Stopped:
        pass
    except BaseException as error:  # said by the main thread
        failures.append(error)
        tree.stop.set()


def summarise(mutants, results, folder):
    """A table by folder, and the survivors as CSV."""
    rows = {}
    with open(folder / "survivors.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["folder", "file", "line", "kind", "before", "after"])
        for mutant in sorted(mutants, key=lambda one: (one.file, one.start)):
            verdict = results.of(mutant)
            if verdict is None:
                continue
            row = rows.setdefault(folder_of(mutant.file), {"caught": 0, "survived": 0, "does not build": 0})
            row[verdict["status"]] += 1
            if verdict["status"] == "survived":
                table.writerow([folder_of(mutant.file), mutant.file, mutant.line, mutant.kind, mutant.before, mutant.after])
    if not rows:
        return
    rows = dict(sorted(rows.items()))
    rows["all"] = {key: sum(row[key] for row in rows.values()) for key in ("caught", "survived", "does not build")}
    print("\n| folder | caught | survived | percent caught | does not build |\n|---|---|---|---|---|")
    for name, row in rows.items():
        built = row["caught"] + row["survived"]
        percent = f"{100 * row['caught'] / built:.0f}" if built else ""
        print(f"| {name} | {row['caught']} | {row['survived']} | {percent} | {row['does not build']} |")
    print(f"\nsurvivors: {os.path.relpath(folder / 'survivors.csv')}")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="", help="folder or file below src/vig (default: all)")
    parser.add_argument("--sample", type=int, default=20, metavar="N", help="number of mutants; 0: all (default: 20)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="which ones (default: 1)")
    parser.add_argument("--list", action="store_true", help="print the mutants and run none")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="trees to work in at a time (default: 1)")
    parser.add_argument("--seconds", type=float, default=600, metavar="S",
                        help="of tests for a mutant that the nearest do not catch, the quickest first (default: 600)")
    parser.add_argument("--patience", type=float, default=5, metavar="X",
                        help="time limit of tests, in multiples of their normal time (default: 5)")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.sample < 0 or options.workers < 1 or options.patience < 1:
        parser.error("expected --sample of at least 0, --workers and --patience of at least 1")
    return options


def main(arguments=None):
    options = parse(arguments)
    root = options.root.resolve()
    files = tree_files(root)
    below = ("src/vig/" + options.folder.removeprefix("src/vig/")).rstrip("/")
    sources = [name for name in files if name.endswith(".cpp") and (name == below or name.startswith(below + "/"))]
    if not sources:
        print(f"mutate.py: {below} holds no .cpp file", file=sys.stderr)
        return 2
    mutants = []
    for name in sources:
        mutants += mutants_of((root / name).read_text(encoding="utf-8"), name)
    chosen = sample(mutants, options.sample, options.seed)
    if options.list:
        for mutant in chosen:
            print(show(mutant) + "\n" + diff(mutant))
        return 0
    folder = root / "build/mutants"
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(folder, tree_hash(root, files))
    todo, stop, failures = queue.SimpleQueue(), threading.Event(), []
    for mutant in chosen:
        if results.of(mutant) is None:
            todo.put(mutant)
        else:
            say(mutant, results.of(mutant))
    print(f"{todo.qsize()} of {len(chosen)} mutants to run, of {len(mutants)} in {len(sources)} files", flush=True)
    workers = [
        threading.Thread(target=work, args=(Tree(root, folder / f"tree-{i}", files, options, stop), todo, results, failures))
        for i in range(min(options.workers, todo.qsize()))
    ]
    # By a handler: an exception inside of join makes Python 3.11 forget that the thread runs.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    for worker in workers:
        worker.start()
    for worker in workers:
        while worker.is_alive():
            worker.join(0.2)
    summarise(chosen, results, folder)
    if failures:
        print(failures[0] if isinstance(failures[0], SystemExit) else repr(failures[0]), file=sys.stderr)
        return 1
    return 130 if stop.is_set() else 0


if __name__ == "__main__":
    sys.exit(main())
