#!/usr/bin/env bash
# Cross-compiles the kernels and their tests for 64-bit Arm and runs the tests in an emulator.
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  cat <<'HELP'
Usage: tools/check_aarch64.sh [GOOGLETEST OPTIONS]

Needs Debian: installs a cross compiler and qemu, unpacks the libraries for arm64 below
build/aarch64 (the system itself stays as it is), builds src/vig/{base,kernels} with
tests/kernels and runs them. Ends as the tests do.
HELP
  exit 0
fi

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)
source "$root/tools/prepare.sh"
lock aarch64
install_packages portability

work=$root/build/aarch64
log=$root/build/aarch64.log
sysroot=$work/sysroot
mkdir -p -- "$work/apt/lists/partial" "$work/apt/archives/partial" "$work/objects"
: >"$log"

# An apt of its own, in which nothing is installed: it brings the libraries and what they need.
if [[ ! -e $sysroot/complete ]]; then
  say "fetching libraries for arm64"
  : >"$work/apt/status"
  read -r -a libraries <<<"$(packages aarch64)"
  apt=(apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures=arm64
    -o APT::Sandbox::User=root -o "Dir::State=$work/apt" -o "Dir::State::lists=$work/apt/lists"
    -o "Dir::State::status=$work/apt/status" -o "Dir::Cache=$work/apt")
  # The update may fail where only a foreign source is unreachable: the download decides.
  "${apt[@]}" update >>"$log" 2>&1 </dev/null || true
  "${apt[@]}" install --download-only --no-install-recommends "${libraries[@]}" \
    >>"$log" 2>&1 </dev/null || fail "the libraries for arm64 could not be fetched." "$log"
  for package in "$work"/apt/archives/*.deb; do dpkg -x "$package" "$sysroot"; done
  touch "$sysroot/complete"
fi

# The kernels' targets are named once.
disabled=$(sed -n 's/^set(disabled_targets \(HWY_[^)]*\))$/HWY_DISABLED_TARGETS=(\1)/p' "$root/src/vig/CMakeLists.txt")
[[ -n $disabled ]] || fail "src/vig/CMakeLists.txt no longer names the disabled targets." "$log"
library_path=$sysroot/usr/lib/aarch64-linux-gnu
flags=(-std=c++20 -O2 -ffp-contract=off -fopenmp -Wall -Wextra -Wpedantic -Wshadow -Werror
  "-D$disabled" -DHWY_SHARED_DEFINE -I "$root/src" -I "$root/tests" -isystem "$sysroot/usr/include")

say "compiling for aarch64; the log is $log"
rm -f -- "$work"/objects/*.o
# shellcheck disable=SC2016  # the inner shell expands these
(cd -- "$root" && find src/vig/base src/vig/kernels tests/kernels -name '*.cpp' -print0) |
  (cd -- "$root" && xargs -0 -P "$(nproc)" -I{} bash -c \
    'source=$1 objects=$2; shift 2
     aarch64-linux-gnu-g++ "$@" -c "$source" -o "$objects/${source//\//_}.o"' \
    bash {} "$work/objects" "${flags[@]}") >>"$log" 2>&1 ||
  fail "compiling for aarch64 failed; the compiler's messages are in $log." "$log"
aarch64-linux-gnu-g++ -fopenmp "$work"/objects/*.o -L "$library_path" -lgtest_main -lgtest -lhwy \
  -lfmt "-Wl,-rpath-link,$library_path" -o "$work/kernels_test" >>"$log" 2>&1 ||
  fail "linking for aarch64 failed; the linker's messages are in $log." "$log"
unlock

say "running kernels_test under qemu-aarch64"
exec qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$library_path" \
  "$work/kernels_test" "$@"
