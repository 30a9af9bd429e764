#!/usr/bin/env bash
# tools/nightly.sh [PART...] runs every check, or those named, one after the other, and prints a Markdown
# table of them: what docs/testing.md shows of the last run. Ends with status 1 when one failed. Each part's
# row and log stay in build/nightly, so that the table also has the parts of earlier calls.
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)
folder=$root/build/nightly
all=(tests sanitised threads clang tidy coverage browser packages slurm fuzz restarts aarch64)
fuzz_minutes=${VIG_FUZZ_MINUTES:-10}

# command_of PART: in `command`.
command_of() {
  case $1 in
    tests) command=(./test) ;;
    sanitised | threads | clang | tidy | coverage | browser | packages) command=(./test "--$1") ;;
    slurm) command=(tools/check_slurm.sh) ;;
    fuzz) command=(tools/fuzz.sh "$fuzz_minutes") ;;
    restarts) command=(tools/rolling_restart.py) ;;
    aarch64) command=(tools/check_aarch64.sh) ;;
    *)
      printf 'vig: no part is called %s; there are: %s\n' "$1" "${all[*]}" >&2
      exit 2
      ;;
  esac
}

parts=("$@")
if ((${#parts[@]} == 0)); then parts=("${all[@]}"); fi
for part in "${parts[@]}"; do command_of "$part"; done

# What a log says in the end, in a few words.
summary() {
  sed -n -E 's/^[0-9]+% tests passed, ([0-9]+) tests failed out of ([0-9]+)$/\2 tests, \1 failed/p
    s/^\[==========\] ([0-9]+) tests .* ran.*/\1 tests/p
    s/^Ran ([0-9]+) tests in .*/\1 tests/p
    s/^([0-9]+ runs of [0-9]+ targets, .*)\.$/\1/p
    s/^two nodes of Slurm, (.*)$/\1/p
    s/^\| all \| [0-9]+ \| ([0-9]+) \| (.*) \|$/\2 of \1 lines/p' "$1" | tail -n 2 | paste -sd ';' | sed 's/;/; /'
}

mkdir -p -- "$folder"
cd -- "$root"
failed=0
for part in "${parts[@]}"; do
  command_of "$part"
  printf 'vig: %s: %s\n' "$part" "${command[*]}" >&2
  commit=$(git rev-parse --short HEAD 2>/dev/null || echo '?')
  if [[ -n $(git status --porcelain --untracked-files=no 2>/dev/null) ]]; then commit+=', changed'; fi
  date=$(date -u '+%Y-%m-%d %H:%M')
  status=0
  TIMEFORMAT='%R %U %S'
  { time "${command[@]}" >"$folder/$part.log" 2>&1 </dev/null || status=$?; } 2>"$folder/$part.time"
  read -r elapsed user system <"$folder/$part.time"
  result=passed
  if ((status != 0)); then
    result="failed ($status)"
    failed=1
    printf 'vig: %s failed; its messages are in %s\n' "$part" "$folder/$part.log" >&2
  fi
  awk -v part="$part" -v command="${command[*]}" -v result="$result" -v what="$(summary "$folder/$part.log")" \
    -v elapsed="$elapsed" -v cpu="$user" -v sys="$system" -v date="$date" -v commit="$commit" 'BEGIN {
      printf "| %s | `%s` | %s | %s | %.0f min | %.0f min | %s | %s |\n",
        part, command, result, what, elapsed / 60, (cpu + sys) / 60, date, commit }' >"$folder/$part.row"
done

printf '%s, %s cores.\n\n' "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)" "$(nproc)"
printf '| part | command | result | what | time | processor time | UTC | commit |\n|---|---|---|---|---|---|---|---|\n'
for part in "${all[@]}"; do
  if [[ -e $folder/$part.row ]]; then cat -- "$folder/$part.row"; fi
done
exit "$failed"
