"""Prints docs/commands.md from the option tables of the programs, for tools/write_help.sh.

Its argument is a folder with PROGRAM.json, the output of PROGRAM --describe.
"""

import json
import pathlib
import sys

INTRO = """# Commands

This page lists every command and option of `vig`. Each section is the output of `./vig COMMAND --help`, which needs no build.

<!-- made by tools/write_help.sh -->
"""


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def option_row(option):
    names = ", ".join(option["names"]) or option["positional"]
    value = option["value"]
    if option["many"] and not value.endswith("..."):
        value += " ..."
    default = "required" if option["required"] else option["preset"]
    return f"| `{names}{' ' + value if value else ''}` | {cell(option['help'])} | {cell(default)} |"


def footer(text):
    """Indented lines stay lines; others are paragraphs."""
    lines, block = [], []
    for line in text.split("\n") + [""]:
        if line.startswith(" "):
            block.append(line)
            continue
        if block:
            lines += ["", "```text", *block, "```", ""]
            block = []
        if line:
            lines.append(line)
    return "\n".join(lines).strip("\n")


def section(command, title):
    out = [f"## {title}", "", command["summary"].rstrip(".") + ".", ""]
    out += ["```text", command["usage"], "```", ""]
    out += ["| option | meaning | default |", "|---|---|---|"]
    out += [option_row(option) for option in command["options"]]
    if command["footer"]:
        out += ["", footer(command["footer"])]
    return "\n".join(out) + "\n"


def main(folder):
    programs = {}
    for name in ("vig", "vig-train", "vig-serve", "vig-study"):
        described = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        programs[name] = {command["name"]: command for command in described[1:]}
        if name == "vig":
            program = described[0]
    sections, rows = [section(program, "vig")], []
    for name, command in programs["vig"].items():
        for helper in ("vig-train", "vig-serve", "vig-study"):  # whose commands vig only lists
            if len(command["options"]) <= 1 and name in programs[helper]:
                command = programs[helper][name]
        rows.append(f"| [`vig {name}`](#vig-{name}) | {cell(command['summary'])} |")
        sections.append(section(command, f"vig {name}"))
        if name == "bench":
            sections.append(section(programs["vig-train"][name], "vig bench --train"))
    print("\n".join([INTRO, "| command | purpose |", "|---|---|", *rows, "", *sections, "[Contents](README.md)"]))


main(pathlib.Path(sys.argv[1]))
