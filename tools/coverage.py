#!/usr/bin/env python3
"""tools/coverage.py BUILD: a table of the lines of src/vig that the tests in BUILD have run, by folder.

BUILD is a build with VIG_INSTRUMENT=coverage whose tests were run (./test --coverage). A line counts once, however
many files include it; it is covered if any of them ran it. The table is Markdown; BUILD/coverage.csv gets a row for each file.
"""

import collections
import concurrent.futures
import json
import os
import subprocess
import sys


def records(build):
    """The files that running programs left: one for each compiled file, also for those of which nothing ran."""
    found = []
    for folder, _, names in os.walk(build):
        found += [os.path.join(folder, name) for name in names if name.endswith(".gcno")]
    return sorted(found)


def lines_of(record):
    """[(file, line, count)] of one compiled file, by gcov."""
    folder, name = os.path.split(record)
    result = subprocess.run(
        ["gcov", "--json-format", "--stdout", name], cwd=folder, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise SystemExit(f"gcov {record} failed: {result.stderr.strip()}")
    found = []
    for text in result.stdout.splitlines():
        for file in json.loads(text)["files"] if text.startswith("{") else []:
            found += [(file["file"], line["line_number"], line["count"]) for line in file["lines"]]
    return found


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        raise SystemExit("usage: tools/coverage.py BUILD")
    build = os.path.realpath(sys.argv[1])
    source = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "src", "vig", "")
    counts = collections.defaultdict(lambda: collections.defaultdict(int))
    compiled = [record for record in records(build) if "/src/vig/" in record]
    if not compiled:
        raise SystemExit(f"{build} was not built with VIG_INSTRUMENT=coverage")
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for found in pool.map(lines_of, compiled):
            for file, line, count in found:
                if file.startswith(source):
                    counts[file[len(source) :]][line] += count

    folders = collections.defaultdict(lambda: [0, 0, 0])
    with open(os.path.join(build, "coverage.csv"), "w", encoding="utf-8") as table:
        table.write("file,lines,covered\n")
        for file in sorted(counts):
            lines, covered = len(counts[file]), sum(count > 0 for count in counts[file].values())
            table.write(f"{file},{lines},{covered}\n")
            for name in (os.path.dirname(file), "all"):
                total = folders[name]
                total[0] += 1
                total[1] += lines
                total[2] += covered
    print("| folder | files | lines | covered |\n|---|---|---|---|")
    everything = folders.pop("all")
    for name, (files, lines, covered) in [*sorted(folders.items()), ("all", everything)]:
        print(f"| {name} | {files} | {lines} | {100 * covered / lines:.1f} % |")


if __name__ == "__main__":
    main()
