#!/usr/bin/env bash
# tools/compare_bits.sh COMMIT: do this tree and COMMIT compute the same bits?
#
# Builds both in build/bits, runs every model that both know at three sizes and ten training steps of
# the miniatures with each, on every instruction set of this machine, and compares hashes of all results.
# For changes that must not change any number; ends with status 1 where something differs.
set -euo pipefail

if (($# != 1)) || [[ $1 == -* ]]; then
  sed -n '2,7s/^# \{0,1\}//p' -- "$0" >&2
  exit 2
fi
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
commit=$(git -C "$root" rev-parse --verify "$1^{commit}")
work=$root/build/bits
mkdir -p -- "$work"

# Highway is a shared library: what it takes for the machine's instruction sets can be narrowed.
cat >"$work/narrow.cpp" <<'CPP'
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

namespace hwy {
int64_t SupportedTargets() {
  using Function = int64_t (*)();
  static const auto real =
      reinterpret_cast<Function>(dlsym(RTLD_NEXT, "_ZN3hwy16SupportedTargetsEv"));
  const char* mask = std::getenv("NARROW_TARGETS");
  return real() & (mask == nullptr ? -1 : std::strtoll(mask, nullptr, 0));
}
}  // namespace hwy
CPP
g++ -O1 -shared -fPIC -o "$work/narrow.so" "$work/narrow.cpp" -ldl

# The sets by the bits of hwy/detect_targets.h: each mask leaves that set and the ones below it.
declare -A masks=([avx512]=-1 [avx2]=0x7ffffffffffffe00 [sse4]=0x7ffffffffffff800 [plain]=0x6000000000000000)

# make_tree NAME COMMIT: a checkout with the recorder among its benchmarks, built.
make_tree() {
  local tree=$work/$1
  if [[ ! -e $tree/.git ]]; then
    git -C "$root" worktree prune
    git -C "$root" worktree add --force --detach "$tree" "$2" >/dev/null
  fi
  git -C "$tree" checkout --quiet --force --detach "$2"
  mkdir -p -- "$tree/bench/pipeline"
  cp -- "$root/tools/record_bits.cpp" "$tree/bench/pipeline/record_bits_bench.cpp"
  (cd -- "$tree" && cmake --preset developer >"$work/$1.log" 2>&1 &&
    cmake --build build/developer --parallel "$(nproc)" \
      --target pipeline_record_bits_bench vig-train >>"$work/$1.log" 2>&1) ||
    { tail -n 20 "$work/$1.log" >&2; exit 1; }
}

# record NAME SET: all hashes to NAME.SET.
record() {
  local tree=$work/$1 bin=$work/$1/build/developer/bin out=$work/$1.$2 model
  local run=(env LD_PRELOAD="$work/narrow.so" NARROW_TARGETS="${masks[$2]}")
  "${run[@]}" "$bin/pipeline_record_bits_bench" "${models[@]}" >"$out"
  for model in test_vig test_vig_h; do
    rm -rf -- "$work/run"
    "${run[@]}" "$bin/vig-train" train "$work/photos" --out "$work/run" --model "$model" --size 32 \
      --batch 4 --epochs 2.5 --val-share 0 --warmup-epochs 1 --set drop_path=0.3 \
      >>"$work/$1.log" 2>&1
    "$bin/pipeline_record_bits_bench" "$work/run/last.safetensors" | sed "s/^/training $model /" >>"$out"
  done
  sort -o "$out" -- "$out"
}

photos=$work/photos
mkdir -p -- "$photos/cat" "$photos/flower"
for i in 1 2 3 4 5 6 7 8; do
  cp -- "$root/tests/fixtures/image/photos/cat_chelsea.png" "$photos/cat/$i.png"
  cp -- "$root/tests/fixtures/image/photos/flower.webp" "$photos/flower/$i.webp"
done

make_tree old "$commit"
make_tree new "$(git -C "$root" rev-parse HEAD)"
list() { "$work/$1/build/developer/bin/pipeline_record_bits_bench" | sort; }
mapfile -t models < <(comm -12 <(list old) <(list new))
status=0
for set in plain sse4 avx2 avx512; do
  if [[ $set == avx2 ]] && ! grep -qw avx2 /proc/cpuinfo; then continue; fi
  if [[ $set == avx512 ]] && ! grep -qw avx512bw /proc/cpuinfo; then continue; fi
  record old "$set"
  record new "$set"
  if cmp -s -- "$work/old.$set" "$work/new.$set"; then
    echo "$set: the same bits ($(wc -l <"$work/new.$set") results)"
  else
    echo "$set: DIFFERENT: $(diff "$work/old.$set" "$work/new.$set" | grep -c '^>') results"
    diff "$work/old.$set" "$work/new.$set" | sed -n 1,10p
    status=1
  fi
done
exit $status
