#!/usr/bin/env bash
# tools/fuzz.sh [MINUTES] [TARGET...] fuzzes every parser, or those named, one after the other, with
# libFuzzer and the address and undefined-behaviour sanitisers. It prints a Markdown table and ends
# with status 1 when something was found. MINUTES (default 10) are shared by the targets. What was
# learnt stays in build/fuzz/corpus, so that later runs start from it; inputs that crash, leak, take
# too long or too much memory are kept in build/fuzz/findings.
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)
minutes=${1:-10}
if [[ ! $minutes =~ ^[0-9]+$ || $minutes == 0 ]]; then
  printf 'usage: tools/fuzz.sh [MINUTES] [TARGET...]\n' >&2
  exit 2
fi
shift || true

# shellcheck source=tools/prepare.sh
source "$root/tools/prepare.sh"
lock fuzz
install_packages engine server fuzzing
build fuzz fuzz
unlock

folder=$root/build/fuzz
targets=("$@")
if ((${#targets[@]} == 0)); then
  for source in "$root"/tests/fuzz/*_fuzz.cpp; do
    source=${source##*/}
    targets+=("${source%_fuzz.cpp}")
  done
fi
seconds=$((minutes * 60 / ${#targets[@]}))
if ((seconds == 0)); then seconds=1; fi

# seeds TARGET: separated by commas, the files that tests/fuzz/seeds.txt names, and those of its own folders.
seeds() {
  local name patterns
  (
    cd -- "$root/tests"
    shopt -s nullglob
    while read -r name patterns; do
      # shellcheck disable=SC2086  # patterns are expanded here
      if [[ $name == "$1" ]]; then printf '%s\n' $patterns; fi
    done <fuzz/seeds.txt
    printf '%s\n' fuzz/seeds/"$1"/* fuzz/regressions/"$1"/*
  ) | sed -e '/^$/d' -e "s|^|$root/tests/|" | paste -sd ,
}

# stat LOG NAME: a number from the end of libFuzzer's log.
stat() { sed -n "s/^stat::$2: *//p" "$1" | tail -n 1; }

total=0
found=0
mkdir -p -- "$folder/findings"
printf '| target | runs | coverage (edges) | slowest input (s) | memory (MB) | findings |\n'
printf '|---|---|---|---|---|---|\n'
for target in "${targets[@]}"; do
  corpus=$folder/corpus/$target
  log=$folder/$target.log
  mkdir -p -- "$corpus"
  seeds "$target" >"$folder/$target.seeds"
  options=(-max_total_time="$seconds" -max_len=4096 -timeout=5 -rss_limit_mb=1024
    -print_funcs=0 -entropic=0 -print_final_stats=1 -artifact_prefix="$folder/findings/$target-")
  if [[ -s $folder/$target.seeds ]]; then options+=(-seed_inputs=@"$folder/$target.seeds"); fi
  status=0
  # Damaged images make codecs print; the log keeps it.
  "$folder/bin/${target}_fuzz" "${options[@]}" "$corpus" >"$log" 2>&1 </dev/null || status=$?
  runs=$(stat "$log" number_of_executed_units)
  edges=$(grep -ao 'cov: [0-9]*' -- "$log" | tail -n 1 || true)
  printf '| %s | %s | %s | %s | %s | %s |\n' "$target" "${runs:-?}" "${edges#cov: }" \
    "$(stat "$log" slowest_unit_time_sec)" "$(stat "$log" peak_rss_mb)" "$((status != 0))"
  total=$((total + ${runs:-0}))
  if ((status != 0)); then
    found=$((found + 1))
    say "$target: found something; the input is in $folder/findings, the messages in $log"
  fi
done
printf '\n%s runs of %s targets, %s with findings.\n' "$total" "${#targets[@]}" "$found"
((found == 0))
