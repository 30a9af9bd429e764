#!/usr/bin/env bash
# Measures the server under load, and that it stands it for long.
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd -P)
# shellcheck source=tools/prepare.sh
source "$root/tools/prepare.sh"
photos=$root/tests/fixtures/image/photos

usage() {
  cat <<HELP
Usage: bench/serve/run.sh [OPTIONS]

Builds vig and vig-serve, starts the server with the default model, and measures in turns what
vig bench does at its best batch and what clients of the server get. Then a few clients are measured
with and without 2000 hostile ones. At last clients send many requests, a tenth of them broken, and
the memory of the server is watched. Prints Markdown, writes throughput.csv, hostile.csv and soak.csv
to bench/results/serve; status 1 if a response was wrong or missing.
  --rounds N     of throughput (default: 5)
  --seconds S    of each measurement of throughput (default: 10)
  --requests N   of the long run (default: 100000)
  --clients N    (default: 64)
  --threads N    of the network (default: all)
  --out DIR      for the CSV files (default: bench/results/serve)
  --quick        2 rounds of 2 seconds and 2000 requests, to see that all of it works; --out is needed
VIG names another vig program than the one of this tree, with vig-serve beside it.
HELP
}

usage_error() {
  say "$1; see bench/serve/run.sh --help"
  exit 2
}

rounds=5 seconds=10 requests=100000 clients=64 threads=$(nproc) out='' quick=0
while (($# > 0)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --quick) quick=1 rounds=2 seconds=2 requests=2000 ;;
    --rounds | --seconds | --requests | --clients | --threads | --out)
      (($# > 1)) || usage_error "$1 needs a value"
      declare "${1#--}=$2"
      shift ;;
    *) usage_error "there is no option $1" ;;
  esac
  shift
done
if [[ -z $out ]]; then
  ((quick == 0)) || usage_error "--quick needs --out, since its figures are not worth keeping"
  out=$root/bench/results/serve
fi
mkdir -p -- "$out"
out=$(readlink -f -- "$out")

vig=${VIG:-$root/vig}
"$vig" serve --help >/dev/null # builds it
work=$(mktemp -d)
server=0
finish() {
  if ((server > 0)); then kill "$server" 2>/dev/null && wait "$server" || true; fi
  rm -rf -- "$work"
}
trap finish EXIT
g++ -std=c++20 -O2 -o "$work/serve_load" "$root/bench/serve/load.cpp"

# The server, and its port.
start() {
  "$vig" serve --port 0 --log none --threads "$threads" >"$work/line" &
  server=$!
  until grep -q 'http://' "$work/line"; do
    kill -0 "$server" || { say 'the server does not start'; exit 1; }
    sleep 0.05
  done
  port=$(sed -n 's|.*http://127\.0\.0\.1:\([0-9]*\)/.*|\1|p' "$work/line")
}
stop() {
  kill "$server"
  wait "$server" || { say "the server ended with status $?"; exit 1; }
  server=0
}

# network BATCHES SECONDS: images/s of vig bench at each, one a line with its batch.
network() {
  "$vig" bench "$root/models/default.safetensors" --batch "$1" --threads "$threads" --seconds "$2" \
    --csv "$work/bench.csv" >/dev/null
  # Columns from the right: the names of processors may have commas.
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = NF - i; next }
           { print $(NF - at["images_per_second"]), $(NF - at["batch"]) }' "$work/bench.csv"
}
# load NAME OPTION...: clients; what they saw goes to NAME, and `of NAME KEY` gives it back.
load() {
  local name=$1
  shift
  "$work/serve_load" --port "$port" --clients "$clients" "$@" >"$work/$name"
}
of() { awk -v key="$2" '$1 == key { print $2; found = 1 } END { if (!found) print 0 }' "$work/$1"; }
median() { sort -g | awk '{ all[NR] = $1 } END { print (all[int((NR + 1) / 2)] + all[int(NR / 2) + 1]) / 2 }'; }
column() { cut -d, -f"$1" | tail -n +2 | median; }

cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
printf '%s, %s threads, %s clients\n\n' "${cpu:-unknown processor}" "$threads" "$clients"

read -r _ batch < <(network 1,2,4,8,16,32 "$seconds" | sort -gr)
# An image of the size that the default model is made for, and a photo.
small=$root/tests/fixtures/image/formats/photo.png
photo=$photos/cat_progressive_320x240.jpg
printf '| image | vig bench images/s (batch %s) | server images/s | share | median ms | p99 ms | p99 / median |\n' "$batch"
printf '|---|---|---|---|---|---|---|\n'
csv=$out/throughput.csv
printf 'image,round,batch,threads,clients,bench_images_per_second,images_per_second,share,median_ms,p99_ms\n' >"$csv"
start
for image in "$small" "$photo"; do
  name=$(basename -- "$image")
  load warm --seconds 1 "$image"
  head -n 1 "$csv" >"$work/rows.csv"
  for ((round = 1; round <= rounds; ++round)); do
    read -r alone _ < <(network "$batch" "$seconds")
    load seen --seconds "$seconds" "$image"
    served=$(of seen images_per_second)
    printf '%s,%s,%s,%s,%s,%s,%s,%.4f,%s,%s\n' "$name" "$round" "$batch" "$threads" "$clients" "$alone" "$served" \
      "$(awk "BEGIN { print $served / $alone }")" "$(of seen median_ms)" "$(of seen p99_ms)" >>"$work/rows.csv"
  done
  tail -n +2 "$work/rows.csv" >>"$csv"
  half=$(column 9 <"$work/rows.csv") slow=$(column 10 <"$work/rows.csv")
  printf '| %s | %.1f | %.1f | %.1f %% | %.1f | %.1f | %.2f |\n' "$name" "$(column 6 <"$work/rows.csv")" \
    "$(column 7 <"$work/rows.csv")" "$(awk "BEGIN { print 100 * $(column 8 <"$work/rows.csv") }")" "$half" "$slow" \
    "$(awk "BEGIN { print $slow / $half }")"
done

# Hostile clients beside polite ones, in turns.
polite=4 hostile=2000
ulimit -n $((hostile + 200)) 2>/dev/null || hostile=500
csv=$out/hostile.csv
printf 'round,clients,hostile,median_ms,p99_ms,median_ms_beside,p99_ms_beside\n' >"$csv"
for ((round = 1; round <= rounds; ++round)); do
  load calm --clients "$polite" --seconds "$seconds" "$small"
  load beside --clients "$polite" --seconds "$seconds" --hostile "$hostile" "$small"
  printf '%s,%s,%s,%s,%s,%s,%s\n' "$round" "$polite" "$hostile" "$(of calm median_ms)" "$(of calm p99_ms)" \
    "$(of beside median_ms)" "$(of beside p99_ms)" >>"$csv"
done
calm=$(column 4 <"$csv") beside=$(column 6 <"$csv")
printf '\n| clients | hostile ones | median ms alone | beside them | ratio | p99 ms alone | beside them |\n'
printf '|---|---|---|---|---|---|---|\n'
printf '| %s | %s | %.1f | %.1f | %.2f | %.1f | %.1f |\n' "$polite" "$hostile" "$calm" "$beside" \
  "$(awk "BEGIN { print $beside / $calm }")" "$(column 5 <"$csv")" "$(column 7 <"$csv")"
stop

start
status=0
load soak --requests "$requests" --server "$server" --soak "$photo" "$photos/kitten_gray.jpg" "$small" || status=1
stop
csv=$out/soak.csv
keys=(requests responses lost unexpected different faults status_200 status_400 status_404 status_422 status_503
  seconds memory_second_tenth_mb memory_last_tenth_mb memory_growth)
(IFS=,; printf '%s\n' "${keys[*]}") >"$csv"
for key in "${keys[@]}"; do printf '%s,' "$(of soak "$key")"; done | sed 's/,$/\n/' >>"$csv"
printf '\n| requests | responses | 200 | 400 | 404 | 422 | 503 | other 5xx | wrong responses | memory, second tenth | last tenth | growth |\n'
printf '|---|---|---|---|---|---|---|---|---|---|---|---|\n'
printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %.1f MB | %.1f MB | %.2f %% |\n' \
  "$(of soak requests)" "$(of soak responses)" "$(of soak status_200)" "$(of soak status_400)" \
  "$(of soak status_404)" "$(of soak status_422)" "$(of soak status_503)" "$(of soak faults)" \
  "$(($(of soak unexpected) + $(of soak different)))" "$(of soak memory_second_tenth_mb)" \
  "$(of soak memory_last_tenth_mb)" "$(awk "BEGIN { print 100 * $(of soak memory_growth) }")"
exit "$status"
