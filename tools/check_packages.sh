#!/usr/bin/env bash
# tools/check_packages.sh makes the Debian packages, installs them into a bare Debian system below
# build/, uses them there, removes them and compares the files before and after. Root does this, since
# it enters that system; nothing of the machine's own is changed but the packages it builds with.
# tools/check_packages.sh FOLDER takes packages that are there already.
set -euo pipefail

tree=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)
root=$tree # for prepare.sh
source "$tree/tools/prepare.sh"
if ((EUID != 0)); then
  say 'installing packages into another system takes root: run it with sudo.'
  exit 1
fi
log=$tree/build/check_packages.log
system=$tree/build/debian-root.tar # the bare system, kept for the next time
image=$tree/examples/cat.jpg
mkdir -p -- "$tree/build"
: >"$log"

# A command whose output matters only if it fails.
quietly() { "$@" >>"$log" 2>&1 </dev/null || fail "'$*' failed; its messages are in $log." "$log"; }

packages_folder=${1:-}
if [[ -z $packages_folder ]]; then
  lock package
  install_packages engine training onnx python server packaging
  build package package all vig-study
  packages_folder=$tree/build/package/packages
  rm -rf -- "$packages_folder"
  (cd -- "$tree" && quietly cpack --preset package)
  unlock
else
  install_packages packaging
  packages_folder=$(cd -- "$packages_folder" && pwd -P)
fi
shopt -s nullglob
debs=("$packages_folder"/*.deb)
if ((${#debs[@]} == 0)); then
  say "$packages_folder holds no .deb file."
  exit 1
fi
names=()
for deb in "${debs[@]}"; do names+=("$(dpkg-deb -f "$deb" Package)"); done
version=$(dpkg-deb -f "${debs[0]}" Version)
say "packages of version $version: ${names[*]}"

# This machine's own sources of Debian, as "URI RELEASE COMPONENT".
debian_sources() {
  # shellcheck disable=SC2016  # apt-get expands these, not the shell
  apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' | sed -n 's/^Debian //p' | sort -u
}

codename=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
if [[ ! -e $system ]]; then
  say 'making a bare Debian system, which takes some minutes the first time'
  new=$(mktemp -d -- "$tree/build/debian-root.XXXXXX")
  uri=$(debian_sources | awk -v name="$codename" '$2 == name && $3 == "main" { print $1; exit }')
  quietly debootstrap --variant=minbase "$codename" "$new" "$uri"
  debian_sources | sed 's/^/deb /' >"$new/etc/apt/sources.list"
  quietly tar -C "$new" -cf "$system.new" .
  mv -- "$system.new" "$system"
  rm -rf --one-file-system -- "$new"
fi

bare=$(mktemp -d -- "$tree/build/debian-root.XXXXXX")
server=
clean_up() {
  if [[ -n $server ]]; then kill "$server" 2>/dev/null || true; fi
  rm -rf --one-file-system -- "$bare"
}
trap clean_up EXIT
quietly tar -C "$bare" -xf "$system"
chmod 755 "$bare" # for users other than root
cp -- /etc/resolv.conf "$bare/etc/resolv.conf"
# Packages start nothing in there.
printf '#!/bin/sh\nexit 101\n' >"$bare/usr/sbin/policy-rc.d"
chmod 755 "$bare/usr/sbin/policy-rc.d"

# inside COMMAND...: in the bare system, with its own /proc that goes away with the command.
inside() {
  # shellcheck disable=SC2016  # the inner shell expands these
  unshare --mount --pid --fork -- bash -c \
    'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" "$@"' "$bare" \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
# As an unprivileged user.
as_user() { inside setpriv --reuid 65532 --regid 65532 --clear-groups "$@"; }

# First what ours need, then ours alone: dpkg fetches nothing more.
needed=$(for deb in "${debs[@]}"; do
  dpkg-deb -f "$deb" Depends
  dpkg-deb -f "$deb" Recommends
done | tr ',' '\n' |
  sed 's/^ *//' | grep . | grep -vE "^($(
    IFS='|'
    printf '%s' "${names[*]}"
  ))( |\$)" | sort -u | paste -sd, -)
say 'installing what they need'
quietly inside apt-get -q update
quietly inside apt-get -q -y satisfy --no-install-recommends "$needed"
mkdir -- "$bare/debs"
cp -- "${debs[@]}" "$bare/debs/"
cp -- "$image" "$bare/debs/cat.jpg"
# Everything but what dpkg and apt write down, and caches that tools of the system make anew.
files() {
  (cd -- "$bare" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./debs -o -path ./var/lib/dpkg \
    -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log -o -path ./tmp \) -prune -o -print |
    sort)
}
before=$(files)

say 'installing them'
quietly inside sh -c 'dpkg -i /debs/*.deb'

failures=0
# expect WHAT PATTERN COMMAND...: succeeds, and its output has a line that matches.
expect() {
  local what=$1 pattern=$2 output
  shift 2
  if output=$("$@" 2>&1 </dev/null) && grep -qE -- "$pattern" <<<"$output"; then
    say "ok: $what"
  else
    say "FAILED: $what; expected /$pattern/, found: $output"
    failures=$((failures + 1))
  fi
}
has() { [[ " ${names[*]} " == *" $1 "* ]]; }

expect 'vig --help' 'classify' as_user vig --help
expect 'the default model knows a cat' '% +[0-9]+ +cat$' as_user vig classify --top 1 /debs/cat.jpg
expect 'manual page' 'SYNOPSIS' inside zcat /usr/share/man/man1/vig-classify.1.gz
# shellcheck disable=SC2016  # the inner shell expands it
expect 'completion' '^classify$' inside bash -c \
  'source /usr/share/bash-completion/completions/vig; COMP_WORDS=(vig cla) COMP_CWORD=1; _vig; echo "${COMPREPLY[@]}"'
expect 'licence' 'MIT' inside cat /usr/share/doc/vig/copyright
expect 'vig study' 'verdict on each claim' as_user vig study --help
expect 'manual page of vig study' 'efficiency' inside zcat /usr/share/man/man1/vig-study.1.gz
if has libvig0; then expect 'shared library' 'libvig\.so\.0' inside ldconfig -p; fi
if has libvig-dev; then expect 'headers' 'vig_' inside cat /usr/include/vig/vig.h; fi
if has vig-train; then
  expect 'vig train' '--preset' as_user vig train --help
  expect 'manual page of vig train' 'preset' inside zcat /usr/share/man/man1/vig-train.1.gz
fi
if has vig-onnx; then
  expect 'an ONNX file' 'opset 17' inside vig convert --random test_vig /tmp/x.onnx
fi
if has python3-vig; then
  expect 'module for Python' "^cat ${version%-*}\$" as_user python3 -c \
    'import vig, importlib.metadata as m; print(vig.load()("/debs/cat.jpg").name, m.version("vig"))'
fi

# As in a container: nothing can be written, and the server runs as nobody. It listens on loopback.
say 'serving from a read-only system'
exec {output}< <(
  # shellcheck disable=SC2016
  exec unshare --mount -- bash -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" &&
    mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$bare" \
    setpriv --no-new-privs --bounding-set=-all --reuid 65532 --regid 65532 --clear-groups \
    env -i PATH=/usr/bin VIG_TOKEN=secret vig serve --listen 127.0.0.1 --port 0 2>&1
)
server=$!
read -r -t 60 line <&"$output" || line='nothing'
expect 'the server starts' '^vig serves http://127\.0\.0\.1:[0-9]+/' printf '%s\n' "$line"
port=${line##*127.0.0.1:}
port=${port%%/*}
# ask REQUEST [FILE]: one request over HTTP, with bash alone.
ask() {
  local connection
  exec {connection}<>"/dev/tcp/127.0.0.1/$port"
  printf '%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\nConnection: close\r\nContent-Type: image/jpeg\r\nContent-Length: %s\r\n\r\n' \
    "$1" "$(stat -c %s -- "${2:-/dev/null}")" >&"$connection"
  cat -- "${2:-/dev/null}" >&"$connection"
  cat <&"$connection"
}
if [[ $port =~ ^[0-9]+$ ]]; then
  expect 'health' ' 200 ' ask 'GET /health'
  expect 'an image over HTTP' '"name": ?"cat"' ask 'POST /v1/classify?top=1' "$image"
fi
kill "$server" 2>/dev/null || true
server=

say 'removing them'
quietly inside dpkg --purge "${names[@]}"
rm -f -- "$bare/tmp/x.onnx"
left=$(diff <(printf '%s\n' "$before") <(files) || true)
if [[ -n $left ]]; then
  say "FAILED: removing them changes the system's files: $left"
  failures=$((failures + 1))
else
  say 'ok: nothing is left of them'
fi
if ((failures > 0)); then
  say "$failures checks failed."
  exit 1
fi
say 'the packages install, work and go without a trace'
