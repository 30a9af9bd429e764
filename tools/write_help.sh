#!/usr/bin/env bash
# Writes the help of all commands from the programs' own option tables:
#   docs/help/COMMAND.txt  the output of --help, which ./vig prints without a build
#   docs/commands.md       the same as one page
# Usage: tools/write_help.sh [--check] [FOLDER]
#   FOLDER   the programs (default: build/developer/bin)
#   --check  write nothing; exit with 1 if a file is not up to date
set -euo pipefail

root=$(cd -- "${BASH_SOURCE[0]%/*}/.." && pwd -P)
check=0
if [[ ${1:-} == --check ]]; then check=1 && shift; fi
programs=$(cd -- "${1:-$root/build/developer/bin}" && pwd -P)
made=$(mktemp -d)
trap 'rm -rf -- "$made"' EXIT
mkdir "$made/help"

for program in vig vig-train vig-serve vig-study; do
  "$programs/$program" --describe >"$made/$program.json"
done
python3 -B "$root/tools/commands_page.py" "$made" >"$made/commands.md"
while read -r -a command; do # "vig", "vig classify", "vig bench --train"
  page=${command[*]:1}
  page=${page:-vig}
  "$programs/vig" "${command[@]:1}" --help >"$made/help/${page// --/-}.txt"
done < <(sed -n 's/^## //p' "$made/commands.md")

if ((check)); then
  status=0
  diff -r -- "$root/docs/help" "$made/help" && diff -- "$root/docs/commands.md" "$made/commands.md" || status=1
  if ((status)); then echo 'docs/help or docs/commands.md is not up to date; run tools/write_help.sh' >&2; fi
  exit "$status"
fi
rm -rf -- "$root/docs/help"
cp -r -- "$made/help" "$root/docs/help"
cp -- "$made/commands.md" "$root/docs/commands.md"
