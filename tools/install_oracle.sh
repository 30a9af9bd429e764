#!/usr/bin/env bash
# Installs torchvision, whose networks tests compare imported checkpoints with; returns at once where it is
# installed already.
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)
source "$root/tools/prepare.sh"
mkdir -p -- "$root/build"
install_packages oracle
if ((${#missing[@]} > 0)); then
  say "these Debian packages are needed and not installed: ${missing[*]}"
  exit 1
fi
