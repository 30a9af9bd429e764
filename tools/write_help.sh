#!/usr/bin/env bash
# Writes the files of docs/help anew, from the programs in a folder (default: build/developer/bin). ./vig
# prints these files, so that help needs no build. For a new command, first make its file: `touch` does.
set -euo pipefail

root=$(cd -- "${BASH_SOURCE[0]%/*}/.." && pwd -P)
programs=$(cd -- "${1:-$root/build/developer/bin}" && pwd -P)
for file in "$root"/docs/help/*.txt; do
  page=${file##*/}
  case ${page%.txt} in
    vig) command=() ;;
    bench-train) command=(bench --train) ;;
    *) command=("${page%.txt}") ;;
  esac
  "$programs/vig" "${command[@]}" --help >"$file.new"
  mv -- "$file.new" "$file"
done
