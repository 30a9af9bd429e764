#!/usr/bin/env bash
# Rewrites the speed tables of README.md from bench/results/*.csv, one table a file. Time, images/s,
# GFLOP/s and share of peak are all those of the fastest quarter of the runs.
#   tools/readme_tables.sh           rewrite
#   tools/readme_tables.sh --check   exit with 1 when README.md is not up to date
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)
readme=$root/README.md
first='<!-- speed: made by tools/readme_tables.sh -->'
last='<!-- end of speed -->'

# One CSV file, as `vig bench --csv` writes it, to a Markdown table. Columns go by their names.
table() {
  awk -v file="${1#"$root/"}" '
    # Splits a line at commas outside quotes.
    function split_csv(line, fields,    n, i, c, quoted) {
      n = 1; fields[1] = ""; quoted = 0
      for (i = 1; i <= length(line); ++i) {
        c = substr(line, i, 1)
        if (c == "\"") quoted = !quoted
        else if (c == "," && !quoted) fields[++n] = ""
        else fields[n] = fields[n] c
      }
      return n
    }
    function get(name) {
      if (!(name in column)) {
        print file ": no column " name > "/dev/stderr"
        failed = 1
        exit 1
      }
      return field[column[name]]
    }
    NR == 1 { n = split_csv($0, field); for (i = 1; i <= n; ++i) column[field[i]] = i; next }
    {
      split_csv($0, field)
      if (get("complete") != "true") next
      if (!rows++) {
        printf "%s, %s, fastest quarter of the runs ([data](%s)):\n\n", get("cpu"), get("simd"), file
        print "| model | input | batch | threads | ms | images/s | GFLOP/s | of peak | activations | process |"
        print "|---|---|---|---|---|---|---|---|---|---|"
      }
      size = get("height") == get("width") ? get("height") : get("height") " x " get("width")
      printf "| %s | %s | %d | %d | %.1f | %.1f | %.0f | %.0f %% | %.1f MB | %.0f MB |\n", \
        get("model"), size, get("batch"), get("threads"), get("best_quarter_ms"), \
        1000 * get("batch") / get("best_quarter_ms"), get("gflops"), 100 * get("peak_share"), \
        get("arena_bytes") / 1e6, get("process_bytes") / 1e6
    }
    END { if (!failed && rows) print "" }' "$1"
}

tables() {
  local found='' csv text
  for csv in "$root"/bench/results/*.csv; do
    [[ -e $csv ]] || continue
    text=$(table "$csv")
    [[ -n $text ]] || continue
    found=yes
    printf '%s\n\n' "$text"
  done
  [[ -n $found ]] || printf 'No results are stored in `bench/results/` yet.\n\n'
}

grep -qxF -- "$first" "$readme" && grep -qxF -- "$last" "$readme" || {
  echo "README.md lacks the lines '$first' and '$last'" >&2
  exit 1
}
made=$(mktemp)
trap 'rm -f -- "$made"' EXIT
{
  sed "/^$(printf '%s' "$first" | sed 's/[/.]/\\&/g')\$/q" "$readme"
  echo
  tables
  sed -n "/^$(printf '%s' "$last" | sed 's/[/.]/\\&/g')\$/,\$p" "$readme"
} >"$made"

if [[ ${1:-} == --check ]]; then
  cmp -s -- "$made" "$readme" || {
    echo "README.md is not up to date; run tools/readme_tables.sh" >&2
    exit 1
  }
elif ! cmp -s -- "$made" "$readme"; then
  cat -- "$made" >"$readme"
fi
