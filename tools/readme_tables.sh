#!/usr/bin/env bash
# Rewrites tables from stored measurements, one table per CSV file, each between two comment lines of a page:
#   README.md      speed        ViG-T beside DeiT-T in ONNX Runtime  bench/results/baselines/onnxruntime-*.csv
#   docs/speed.md  engine       speed of the engine                  bench/results/*.csv
#   docs/speed.md  onnxruntime  every network in both engines        bench/results/baselines/onnxruntime-*.csv
# Time, images/s, GFLOP/s and share of peak are those of the fastest quarter of the runs.
#   tools/readme_tables.sh           rewrite
#   tools/readme_tables.sh --check   exit with 1 when a page is not up to date
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)

# Reads a CSV file as `vig bench --csv` writes it. Columns go by their names.
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
  # Files of older programs do not have the column.
  function is_int8() { return "precision" in column && get("precision") == "int8" }
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
        get("model") (is_int8() ? " int8" : ""), size(), get("batch"), get("threads"), get("best_quarter_ms"), \
        1000 * get("batch") / get("best_quarter_ms"), get("gflops"), 100 * get("peak_share"), \
        get("arena_bytes") / 1e6, get("process_bytes") / 1e6
    }' "$1"
}

# In files of both engines, each row of ours is followed by the baseline that took turns with it.
read_pair='
    function network(    name) {
      name = get("model")
      sub(/.*\//, "", name)
      sub(/\.safetensors$/, "", name)
      return name
    }
    get("engine") == "vig" {
      model = network(); int8 = is_int8(); best = get("best_quarter_ms"); process = get("process_bytes")
      next
    }'

# baseline_table FILE LINK: the same for rows of both engines.
baseline_table() {
  awk -v file="${1#"$root/"}" -v link="$2" "$read_csv$read_pair"'
    {
      if (!rows++) {
        printf "%s, %s, %s, fastest quarter of the runs of either engine ([data](%s)):\n\n", \
          get("engine"), get("cpu"), get("simd"), link
        print "| network | its network | input | batch | threads | ours, ms | its, ms | ours / its | by medians | our process | its process | logits differ by |"
        print "|---|---|---|---|---|---|---|---|---|---|---|---|"
      }
      printf "| %s | %s | %s | %d | %d | %.1f | %.1f | %.2f | %.2f | %.0f MB | %.0f MB | %s |\n", \
        model (int8 ? " int8" : ""), network() (is_int8() ? " int8" : ""), size(), get("batch"), \
        get("threads"), best, get("best_quarter_ms"), \
        get("ratio"), get("ratio_median"), process / 1e6, get("process_bytes") / 1e6, \
        get("difference") == "" ? "not compared" : sprintf("%.0e", get("difference"))
    }' "$1"
}

# headline_table FILE LINK: ViG-T beside DeiT-T in ONNX Runtime, one image at a time. Rows of ViG-T in int8 fill
# columns of their own, which are left out where there are none.
headline_table() {
  awk -v file="${1#"$root/"}" -v link="$2" "$read_csv$read_pair"'
    model == "vig_t" && network() == "deit_t" && get("batch") == 1 && !is_int8() {
      at = get("height") " x " get("width")
      if (int8) {
        times[at] = sprintf("%.1f ms", best)
        factors[at] = sprintf("%.1fx", 1 / get("ratio"))
        ++integers
        next
      }
      if (!count++) {
        title = sprintf("One image, %d threads, %s, %s, float32 ([data](%s)):\n", get("threads"), get("cpu"), \
          get("simd"), link)
        engine = get("engine")
      }
      sizes[count] = at
      ours[count] = sprintf("%.1f ms", best)
      theirs[count] = sprintf("%.1f ms | %.1fx", get("best_quarter_ms"), 1 / get("ratio"))
      memory[count] = sprintf("%.0f MB | %.0f MB", process / 1e6, get("process_bytes") / 1e6)
    }
    END {
      if (failed || !count) exit failed
      if (integers) sub(/, float32/, ", float32 unless int8 is named", title)
      print title
      print "| image | ViG-T, this engine |" (integers ? " ViG-T, int8 |" : "") " DeiT-T, " engine " | faster by |" \
        (integers ? " int8 faster by |" : "") " memory here | memory there |"
      print "|---|---|---|---|---|---|" (integers ? "---|---|" : "")
      for (i = 1; i <= count; ++i) {
        at = sizes[i]
        print "| " at " | " ours[i] " |" (integers ? " " times[at] " |" : "") " " theirs[i] " |" \
          (integers ? " " factors[at] " |" : "") " " memory[i] " |"
      }
    }' "$1"
}

# tables TABLE WHERE UP FILE...: the tables of all files, or a sentence that there are none in WHERE. UP is
# the relative path from the page to the top of the tree.
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
mkdir "$made/docs"

# fill NAME PAGE TABLES...: writes the output of TABLES between the two lines of NAME in the new PAGE.
fill() {
  local name=$1 page=$2
  local first="<!-- $name: made by tools/readme_tables.sh -->" last="<!-- end of $name -->"
  shift 2
  [[ -e $made/$page ]] || cp -- "$root/$page" "$made/$page"
  grep -qxF -- "$first" "$made/$page" && grep -qxF -- "$last" "$made/$page" || {
    echo "$page lacks the lines '$first' and '$last'" >&2
    exit 1
  }
  {
    sed "/^${first//[\/.]/\\&}\$/q" "$made/$page"
    echo
    "$@"
    sed -n "/^${last//[\/.]/\\&}\$/,\$p" "$made/$page"
  } >"$made/new"
  mv -- "$made/new" "$made/$page"
}

beside=("$root"/bench/results/baselines/onnxruntime-*.csv)
fill speed README.md tables headline_table bench/results/baselines/ '' "${beside[@]}"
fill engine docs/speed.md tables speed_table bench/results/ ../ "$root"/bench/results/*.csv
fill onnxruntime docs/speed.md tables baseline_table bench/results/baselines/ ../ "${beside[@]}"

# All pages are made before one changes.
for page in README.md docs/speed.md; do
  cmp -s -- "$made/$page" "$root/$page" && continue
  if [[ ${1:-} == --check ]]; then
    echo "$page is not up to date; run tools/readme_tables.sh" >&2
    exit 1
  fi
  cat -- "$made/$page" >"$root/$page"
done
