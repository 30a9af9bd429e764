#!/usr/bin/env bash
# Installs ONNX Runtime, by the exact version and hashes of package-lock.json, into build/baselines; returns
# at once where it is installed already. Nothing else is downloaded: install scripts of packages do not run.
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd -P)
source "$root/tools/prepare.sh"
here=$root/bench/baselines
folder=$root/build/baselines
log=$root/build/baselines.log

# The oldest Node.js that runs the package, and the one of Debian 12.
oldest=18
node_version() { node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0; }
tools_found() { (($(node_version) >= oldest)) && command -v npm >/dev/null; }

lock baselines
if [[ -d $folder/node_modules/onnxruntime-node ]] && tools_found &&
  cmp -s -- "$here/package-lock.json" "$folder/installed"; then
  exit 0
fi
if ! tools_found; then install_packages baselines; fi
if ! tools_found; then
  say "ONNX Runtime needs node of version $oldest or newer and npm: install the Debian packages" \
    "$(packages baselines)or your system's"
  exit 1
fi
say "installing ONNX Runtime; the log is $log"
mkdir -p -- "$folder"
rm -f -- "$folder/installed"
cp -- "$here/package.json" "$here/package-lock.json" "$folder/"
(cd -- "$folder" && npm ci --ignore-scripts --no-audit --no-fund --omit=dev) >"$log" 2>&1 </dev/null ||
  fail "npm could not install ONNX Runtime; its messages are in $log." "$log"
# Two thirds of the package are for other operating systems.
rm -rf -- "$folder"/node_modules/onnxruntime-node/bin/napi-v*/{darwin,win32}
cp -- "$here/package-lock.json" "$folder/installed"
