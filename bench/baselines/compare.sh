#!/usr/bin/env bash
# Measures our engine and ONNX Runtime in turns on the networks that we export.
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd -P)
source "$root/tools/prepare.sh"
# Each network beside its own exported file, and vig_t beside the DeiT-T that it replaces; then both engines in
# int8, and int8 of ours beside DeiT-T in float.
default=(deit_t@224 deit_s@224 deit_b@224 deit_t@1024 resnet50@224 swin_t@224 convnext_t@224
  vig_t:deit_t@224 vig_t:deit_t@512 vig_t:deit_t@1024
  deit_t/int8@224 deit_b/int8@224 vig_t/int8:deit_t@224 vig_t/int8:deit_t@512 vig_t/int8:deit_t@1024)

usage() {
  cat <<HELP
Usage: bench/baselines/compare.sh [OPTIONS] [MODEL[/int8][:OTHER[/int8]][@SIZE]...]

Installs ONNX Runtime into build/baselines, builds vig, exports each MODEL with random weights, and runs
vig bench --baseline: both engines take turns, after their outputs were compared. With OTHER, ONNX Runtime
runs that network instead, and outputs are not compared. SIZE is a number or HEIGHTxWIDTH, 224 unless given.
MODEL/int8 computes dense layers in int8, in both engines unless there is an OTHER, whose precision is its own.
  --csv FILE     also write all rows to this file
  --seconds S    of each measurement (default: 20)
  --threads N    of both engines (default: 2)
  --quick        a second each, to see that all of it works
Without a MODEL: ${default[*]}
VIG names another vig program than the one of this tree. What fails is left out, and the rest is in FILE.partial.
HELP
}

usage_error() {
  say "$1; see bench/baselines/compare.sh --help"
  exit 2
}

csv='' seconds=20 threads=2 jobs=()
while (($# > 0)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --quick) seconds=1 ;;
    --csv | --seconds | --threads)
      (($# > 1)) || usage_error "$1 needs a value"
      declare "${1#--}=$2"
      shift ;;
    -*) usage_error "there is no option $1" ;;
    *) jobs+=("$1") ;;
  esac
  shift
done
((${#jobs[@]} > 0)) || jobs=("${default[@]}")
if [[ -n $csv ]]; then
  csv=$(readlink -m -- "$csv")
  if [[ -d $csv || ! -w $(dirname -- "$csv") ]]; then usage_error "--csv: $csv cannot be written"; fi
fi

"$root/bench/baselines/install.sh"
vig=${VIG:-$root/vig}
"$vig" --version >/dev/null
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"

# precision MODEL: int8 of MODEL/int8, otherwise float32.
precision() {
  case $1 in
    */int8) echo int8 ;;
    *) echo float32 ;;
  esac
}

# measure MODEL OTHER SIZE: exports OTHER with the random weights that vig bench would give it, and adds a row
# of each engine to all.csv.
measure() {
  local model=${1%/int8} other=${2%/int8} type
  type=$(precision "$2")
  local options=(--size "$3" --threads "$threads" --seconds "$seconds" --csv rows.csv
    --precision "$(precision "$1")" --baseline-precision "$type"
    --baseline 'exec node "$VIG_RUNNER" network.onnx "$VIG_THREADS"')
  if [[ $model != "$other" ]]; then options+=(--baseline-other "$other"); fi
  "$vig" convert --random "$other" network.onnx --dtype "$type" --size "$3" --force >/dev/null &&
    VIG_RUNNER=$root/bench/baselines/onnxruntime.mjs "$vig" bench "$model" "${options[@]}" || return
  if [[ ! -e all.csv ]]; then head -n 1 rows.csv >all.csv; fi
  tail -n +2 rows.csv >>all.csv
}

failed=()
for job in "${jobs[@]}"; do
  models=${job%%@*} size=224
  if [[ $job == *@* ]]; then size=${job#*@}; fi
  model=${models%%:*} other=${models##*:}
  status=0
  measure "$model" "$other" "$size" || status=$?
  if ((status > 128)); then exit "$status"; fi
  if ((status != 0)); then failed+=("$job"); fi
done
if ((${#failed[@]} > 0)); then say "not measured: ${failed[*]}"; fi
if [[ -n $csv && -e all.csv ]]; then
  if ((${#failed[@]} > 0)); then csv+=.partial; fi
  cp -- all.csv "$csv"
  say "the rows are in $csv"
fi
((${#failed[@]} == 0))
