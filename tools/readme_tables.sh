#!/usr/bin/env bash
# Rewrites tables from stored measurements, one table a CSV file, between two lines of a page:
#   README.md      speed of the engine          bench/results/*.csv
#   docs/speed.md  comparison with ONNX Runtime bench/results/baselines/onnxruntime-*.csv
# Time, images/s, GFLOP/s and share of peak are all those of the fastest quarter of the runs.
#   tools/readme_tables.sh           rewrite
#   tools/readme_tables.sh --check   exit with 1 when a page is not up to date
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)

# What reads a CSV file as `vig bench --csv` writes it. Columns go by their names.
read_csv='
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
  function size() {
    return get("height") == get("width") ? get("height") : get("height") " x " get("width")
  }
  NR == 1 { n = split_csv($0, field); for (i = 1; i <= n; ++i) column[field[i]] = i; next }
  { split_csv($0, field) }
  get("complete") != "true" { next }
  END { if (!failed && rows) print "" }'

# speed_table FILE LINK: one CSV file to a Markdown table. The page links to the file by LINK.
speed_table() {
  awk -v file="${1#"$root/"}" -v link="$2" "$read_csv"'
    {
      if (!rows++) {
        printf "%s, %s, fastest quarter of the runs ([data](%s)):\n\n", get("cpu"), get("simd"), link
        print "| model | input | batch | threads | ms | images/s | GFLOP/s | of peak | activations | process |"
        print "|---|---|---|---|---|---|---|---|---|---|"
      }
      printf "| %s | %s | %d | %d | %.1f | %.1f | %.0f | %.0f %% | %.1f MB | %.0f MB |\n", \
        get("model"), size(), get("batch"), get("threads"), get("best_quarter_ms"), \
        1000 * get("batch") / get("best_quarter_ms"), get("gflops"), 100 * get("peak_share"), \
        get("arena_bytes") / 1e6, get("process_bytes") / 1e6
    }' "$1"
}

# baseline_table FILE LINK: the same for rows of both engines, each of ours followed by the baseline in turns
# with which it was measured.
baseline_table() {
  awk -v file="${1#"$root/"}" -v link="$2" "$read_csv"'
    function network(    name) {
      name = get("model")
      sub(/.*\//, "", name)
      sub(/\.safetensors$/, "", name)
      return name
    }
    get("engine") == "vig" {
      model = network(); best = get("best_quarter_ms"); process = get("process_bytes")
      next
    }
    {
      if (!rows++) {
        printf "%s, %s, %s, fastest quarter of the runs of either engine ([data](%s)):\n\n", \
          get("engine"), get("cpu"), get("simd"), link
        print "| network | its network | input | batch | threads | ours, ms | its, ms | ours / its | by medians | our process | its process | logits differ by |"
        print "|---|---|---|---|---|---|---|---|---|---|---|---|"
      }
      printf "| %s | %s | %s | %d | %d | %.1f | %.1f | %.2f | %.2f | %.0f MB | %.0f MB | %s |\n", \
        model, network(), size(), get("batch"), get("threads"), best, get("best_quarter_ms"), \
        get("ratio"), get("ratio_median"), process / 1e6, get("process_bytes") / 1e6, \
        get("difference") == "" ? "not compared" : sprintf("%.0e", get("difference"))
    }' "$1"
}

# tables TABLE WHERE UP FILE...: the tables of all files, or a sentence that there are none in WHERE. UP is
# the way from the page to the top of the tree.
tables() {
  local table=$1 where=$2 up=$3 found='' csv text
  shift 3
  for csv in "$@"; do
    [[ -e $csv ]] || continue
    text=$("$table" "$csv" "$up${csv#"$root/"}")
    [[ -n $text ]] || continue
    found=yes
    printf '%s\n\n' "$text"
  done
  [[ -n $found ]] || printf 'No results are stored in `%s` yet.\n\n' "$where"
}

made=$(mktemp -d)
trap 'rm -rf -- "$made"' EXIT

# make_page NAME PAGE TABLES...: the page with what TABLES prints between the two lines of NAME.
make_page() {
  local name=$1 page=$2
  local first="<!-- $name: made by tools/readme_tables.sh -->" last="<!-- end of $name -->"
  shift 2
  grep -qxF -- "$first" "$root/$page" && grep -qxF -- "$last" "$root/$page" || {
    echo "$page lacks the lines '$first' and '$last'" >&2
    exit 1
  }
  {
    sed "/^${first//[\/.]/\\&}\$/q" "$root/$page"
    echo
    "$@"
    sed -n "/^${last//[\/.]/\\&}\$/,\$p" "$root/$page"
  } >"$made/$name"
}

make_page speed README.md tables speed_table bench/results/ '' "$root"/bench/results/*.csv
make_page onnxruntime docs/speed.md tables baseline_table bench/results/baselines/ ../ \
  "$root"/bench/results/baselines/onnxruntime-*.csv

# Both pages are made before either changes.
for page in speed:README.md onnxruntime:docs/speed.md; do
  new=$made/${page%%:*} page=${page#*:}
  cmp -s -- "$new" "$root/$page" && continue
  if [[ ${1:-} == --check ]]; then
    echo "$page is not up to date; run tools/readme_tables.sh" >&2
    exit 1
  fi
  cat -- "$new" >"$root/$page"
done
