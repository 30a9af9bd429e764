#!/usr/bin/env bash
# tools/check_slurm.sh: starts Slurm on this machine, two nodes of it, runs the job of examples/cluster/slurm.sh
# on both, puts it back into the queue in the middle, and compares its final weights with those of a run
# that nothing has disturbed. Takes root, for Slurm and a mount namespace with names of the nodes.
# Installs the packages of the section cluster; works in build/slurm and ends all that it has started.
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)
folder=$root/build/slurm
preset=${VIG_PRESET:-developer}
if [[ -z ${VIG_SLURM_INSIDE:-} ]]; then
  source "$root/tools/prepare.sh"
  lock "$preset"
  install_packages engine training developer cluster
  build "$preset" "$preset" vig vig-train
  unlock
  VIG_SLURM_INSIDE=1 exec unshare --mount -- "$0" "$@"
fi

rm -rf -- "$folder"
mkdir -p -- "$folder"/{state,n1,n2,log,munge,data/cat,data/flower}
cp /etc/hosts "$folder/hosts"
printf '127.0.0.1 n1 n2\n' >>"$folder/hosts"
mount --bind "$folder/hosts" /etc/hosts

pids=()
finish() {
  local pid
  scancel --user="$(id -un)" 2>/dev/null || true
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
}
trap finish EXIT

# await COMMAND SECONDS: returns when the command succeeds.
await() {
  local end=$((SECONDS + $2))
  until eval "$1"; do
    if ((SECONDS >= end)); then
      printf 'vig: after %s s still not: %s; logs are in %s\n' "$2" "$1" "$folder" >&2
      exit 1
    fi
    sleep 0.2
  done
}

# Everything with keys, sockets and ports of its own, beside a Slurm that may be installed.
chmod 700 "$folder/munge"
head -c 1024 /dev/urandom >"$folder/munge/key"
chmod 400 "$folder/munge/key"
munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
  --pid-file="$folder/munge/pid" --seed-file="$folder/munge/seed" &>"$folder/log/munged" &
pids+=($!)
cat >"$folder/slurm.conf" <<CONF
ClusterName=vig
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=27817
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$folder/munge/socket,cred_expire=5
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmctldLogFile=$folder/log/slurmctld
SlurmdLogFile=$folder/log/slurmd-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
JobRequeue=1
ReturnToService=2
NodeName=n1 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=27818 CPUs=1
NodeName=n2 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=27819 CPUs=1
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=60
CONF
export SLURM_CONF=$folder/slurm.conf
await '[[ -S $folder/munge/socket ]]' 30
slurmctld -D &>/dev/null &
pids+=($!)
for node in n1 n2; do
  slurmd -D -N "$node" &>/dev/null &
  pids+=($!)
done
await '[[ $(sinfo --noheader --states=idle --format=%D 2>/dev/null) == 2 ]]' 60

for number in {1..8}; do
  cp "$root/tests/fixtures/image/photos/cat_chelsea.png" "$folder/data/cat/$number.png"
  cp "$root/tests/fixtures/image/photos/flower.webp" "$folder/data/flower/$number.webp"
done
export VIG=$root/build/$preset/bin/vig
options=(--preset small --model test_vig --size 32 --batch 4 --epochs "${VIG_EPOCHS:-150}" --ema 0.9 --threads 1)
job=$(sbatch --parsable --nodes=2 --ntasks-per-node=1 --cpus-per-task=1 --time=30 --signal=TERM@60 \
  --output="$folder/job.log" "$root/examples/cluster/slurm.sh" "$folder/data" "$folder/run" "${options[@]}")
rows() { if [[ -e $folder/run/metrics.csv ]]; then wc -l <"$folder/run/metrics.csv"; else echo 0; fi; }
await '(($(rows) > 20))' 120
scontrol requeue "$job"
before=$(rows)
await '[[ $(squeue --noheader --job "$job" --format=%T 2>/dev/null) == RUNNING ]] && (($(rows) > before + 1))' 180
await '[[ $(squeue --noheader --job "$job" --format=%T 2>/dev/null) != @(RUNNING|COMPLETING|PENDING) ]]' 300

"$VIG" train "$folder/data" --out "$folder/undisturbed" --processes 2 "${options[@]}" >"$folder/undisturbed.log"
cat "$folder/job.log"
/usr/bin/python3 -B - "$folder" <<'PYTHON'
import json
import sys


def tensors(path):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()}


names = ("checkpoint", "best", "last")
runs = [[tensors(f"{sys.argv[1]}/{run}/{name}.safetensors") for name in names] for run in ("run", "undisturbed")]
if runs[0] != runs[1]:
    sys.exit("vig: the weights differ from those of an undisturbed run")
with open(f"{sys.argv[1]}/job.log") as log:
    resumed = [line.strip() for line in log if line.startswith("resuming from step ")]
if not resumed:
    sys.exit("vig: the job was not put back into the queue while it ran")
print(f"two nodes of Slurm, {resumed[0]}: the same weights, bit by bit, as an undisturbed run")
PYTHON
