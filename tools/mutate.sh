#!/usr/bin/env bash
# Makes the mistakes of tests/mutants.txt one at a time and prints which of them no test notices.
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  cat <<'HELP'
Usage: tools/mutate.sh [PATTERN]

For each mistake of tests/mutants.txt whose lines match PATTERN (an extended regular expression;
default: all): applies it in a copy of the tracked files below build/mutants, builds the program of
the tests that should notice as ./test does, runs it to the first failure, and takes the mistake back.
Tests whose file has the name of the mistaken file, or includes its header, run before the others.
Prints "caught by TEST" or by a warning of the compiler, which is an error in builds of the tests,
"SURVIVED" or "does not build" for each, and a summary. A test program that takes far longer than
without mistakes has noticed. As many mistakes as there are processors are made at a time, each in a
copy of its own.

Results are kept as long as no file changes, so an interrupted run continues where it was.
Mistakes of training need LibTorch, those of ONNX files libonnx, which are built in only if one of
them is chosen. Wrong numbers in ONNX files show where bench/rivals/install.sh has been run.
Exit status: 1 if a mistake survived or does not build.
HELP
  exit 0
fi

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)
pattern=${1:-.}
work=$root/build/mutants
mkdir -p -- "$work"
exec {running}>"$work/lock"
flock -n "$running" || { echo "tools/mutate.sh runs already" >&2; exit 1; }
trap 'jobs -p | xargs -r kill 2>/dev/null' EXIT
trap 'exit 130' INT TERM

git=(git -c "safe.directory=*" -C "$root")
version=$({ "${git[@]}" rev-parse HEAD; "${git[@]}" diff HEAD; } | sha256sum | cut -c1-16)
results=$work/results-$version
touch -- "$results"

# A worker's copy is the tracked tree again, whatever a killed run left in it. What is the same keeps
# its time, so that nothing is built twice.
copy_tree() {
  local file
  mkdir -p -- "$tree"
  (cd -- "$tree" && find . -path ./build -prune -o -type f -printf '%P\0') | while IFS= read -r -d '' file; do
    [[ -e $root/$file ]] || rm -f -- "$tree/$file"
  done
  "${git[@]}" ls-files -z | while IFS= read -r -d '' file; do
    [[ -e $root/$file ]] || continue
    cmp -s -- "$root/$file" "$tree/$file" && continue
    mkdir -p -- "$tree/$(dirname -- "$file")"
    cp -P -- "$root/$file" "$tree/$file"
    [[ -L $tree/$file ]] || touch -- "$tree/$file"
  done
}

files=() texts=() news=() breaks=() folders=() keys=()
read_mutants() {
  local line block="" file="" text="" new="" broken="" tests=""
  while IFS= read -r line || [[ -n $line ]]; do
    case $line in
      "#"*) continue ;;
      "file: "*) file=${line#file: } ;;
      "text: "*) text=${line#text: } ;;
      "new: "*) new=${line#new: } ;;
      "new:") new="" ;;
      "breaks: "*) broken=${line#breaks: } ;;
      "tests: "*) tests=${line#tests: } ;;
    esac
    block+=$line$'\n'
    [[ -z $line ]] && block=""
    if [[ $line == "tests: "* ]]; then
      grep -qE -- "$pattern" <<<"$block" || continue
      files+=("$file") texts+=("$text") news+=("$new") breaks+=("$broken") folders+=("$tests")
      keys+=("$(printf '%s\n' "$file" "$text" "$new" "$tests" | sha256sum | cut -c1-16)")
    fi
  done <"$root/tests/mutants.txt"
}

# run_tests FOLDER SECONDS [FILTER]: the program of a folder's tests, to its first failure; sets
# `outcome`. A program that takes so many seconds of the processor, or twice as many in all, never ends.
outcome=""
run_tests() {
  local failed status=0
  (
    ulimit -t "$2"
    exec timeout -k 10 $((2 * $2)) "$objects/bin/${1}_test" --gtest_fail_fast --gtest_brief=1 \
      "--gtest_filter=${3:-*}"
  ) >"$log.test" 2>&1 || status=$?
  outcome=SURVIVED
  ((status == 0)) && return 0
  failed=$(grep -m1 -oP '^\[  FAILED  \] \K[^, ]+' "$log.test" || true)
  if ((status == 124 || status == 137 || status == 152)); then
    failed="the time limit"
  fi
  outcome="caught by ${failed:-the end of the program by signal or exit status $status}"
}

# nearest_tests FOLDER FILE: a filter for the suites of the folder that are likely about the file;
# nothing where there are none.
nearest_tests() {
  local name=${2##*/} header=${2#src/} sources suites
  name=${name%.*} header=${header%.*}
  sources=$(grep -lE "\"${header%-inl}(-inl)?\.h\"" "$tree/tests/$1/"*.cpp || true)
  sources+=" $(ls "$tree/tests/$1/${name%-inl}"*_test.cpp 2>/dev/null || true)"
  # shellcheck disable=SC2086  # names of the tree have no spaces
  suites=$([[ -z ${sources// /} ]] || grep -ohP '^TEST(_F|_P)?\(\K\w+' $sources | sort -u)
  printf '%s' "$suites" | sed 's|.*|&.*:*/&.*|' | paste -sd:
}

# build_and_run FOLDER FILE: the program of the folder's tests, with a mistake in the file; sets
# `outcome`.
build_and_run() {
  local folder=$1 filter
  if ! ninja -j "$jobs" -C "$objects" "${folder}_test" >"$log" 2>&1; then
    outcome="does not build"
    if grep -q 'error:.*\[-Werror=' "$log" && ! grep 'error:' "$log" | grep -qv '\[-Werror='; then
      outcome="caught by the compiler's warning $(grep -m1 -oP '\[-W\Kerror=[^]]+' "$log")"
    fi
    return
  fi
  filter=$(nearest_tests "$folder" "$2")
  if [[ -n $filter ]]; then
    run_tests "$folder" 120 "$filter"
    [[ $outcome == SURVIVED ]] || return 0
  fi
  run_tests "$folder" "$(sed -n "s/^unchanged $folder //p" "$results")"
}

# prepare NUMBER: the copy and the build folder of a worker, configured as that of ./test, so that
# the compiler cache serves both.
prepare() {
  tree=$work/$1/tree objects=$work/$1/tree/build/developer log=$work/$1/log
  copy_tree
  (cd -- "$tree" && cmake --preset developer -DVIG_TORCH=$torch -DVIG_ONNX=$onnx \
    -DVIG_SERVER=$server -DVIG_PYTHON=OFF) >"$log" 2>&1 || { cat -- "$log" >&2; exit 1; }
}

# Tests that fail anyway notice nothing. Those of the folders whose number leaves this rest.
check_unchanged() {
  local f folder
  log=$work/unchanged-$1
  for ((f = $1; f < ${#needed[@]}; f += $2)); do
    folder=${needed[f]}
    grep -q "^unchanged $folder " "$results" && continue
    SECONDS=0
    run_tests "$folder" 900
    if [[ $outcome != SURVIVED ]]; then
      echo "tests/$folder without any mistake: ${outcome/caught by/failed:}; see $log.test" >&2
      exit 1
    fi
    echo "unchanged $folder $((60 + 3 * SECONDS))" >>"$results" # and how long it may take
  done
}

# Every mistake whose number leaves this rest belongs to this worker.
work_through() {
  local m file text new content
  prepare "$1"
  for ((m = $1; m < ${#files[@]}; m += $2)); do
    grep -q "^${keys[m]} " "$results" && continue
    file=${files[m]} text=${texts[m]} new=${news[m]}
    content=$(cat -- "$tree/$file" && printf x)
    content=${content%x}
    printf '%s' "${content/"$text"/"$new"}" >"$tree/$file"
    build_and_run "${folders[m]}" "$file"
    printf '%s' "$content" >"$tree/$file"
    echo "${keys[m]} $outcome" >>"$results"
    printf '%3d/%d  %s: %s\n         %s\n' $((m + 1)) ${#files[@]} "$file" "${breaks[m]}" "$outcome"
  done
}

read_mutants
((${#files[@]} > 0)) || { echo "no mistake of tests/mutants.txt matches '$pattern'" >&2; exit 2; }
torch=OFF
onnx=OFF
server=OFF
mapfile -t needed < <(printf '%s\n' "${folders[@]}" | sort -u)
[[ " ${needed[*]} " == *' train '* ]] && torch=ON
[[ " ${needed[*]} " == *' onnx '* ]] && onnx=ON
[[ " ${needed[*]} " =~ ' '(serve|fuzz)' ' ]] && server=ON
export VIG_RIVALS=${VIG_RIVALS:-$root/build/rivals}
workers=$(nproc)
# in_parallel FUNCTION: called with the number of each worker and how many there are.
in_parallel() {
  local w pid pids=()
  for ((w = 0; w < workers; ++w)); do
    "$1" "$w" "$workers" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
}
prepare 0
jobs=$workers
ninja -j "$jobs" -C "$objects" "${needed[@]/%/_test}" >"$log" 2>&1 ||
  { tail -n 25 -- "$log" >&2; exit 1; }
jobs=1
in_parallel check_unchanged
in_parallel work_through

caught=0
for ((m = 0; m < ${#files[@]}; ++m)); do
  outcome=$(grep -m1 "^${keys[m]} " "$results" || true)
  if [[ ${outcome#* } == caught* ]]; then
    caught=$((caught + 1))
  else
    printf '%s: %s\n         %s\n' "${files[m]}" "${breaks[m]}" "${outcome#* }"
  fi
done
echo "$caught of ${#files[@]} mistakes caught, $((${#files[@]} - caught)) not"
((caught == ${#files[@]}))
