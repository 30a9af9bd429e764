#!/bin/bash
# One training run with torchrun. On each of two hosts, with the same first host:
#   ./torchrun.sh node1 DATA RUN [OPTIONS OF vig train]
# torchrun starts all processes again when one has died; they resume from the checkpoint.
set -euo pipefail
first=$1 data=$2 run=$3
shift 3

exec torchrun --no-python --nnodes="${NODES:-2}" --nproc-per-node=1 --max-restarts=3 \
  --rdzv-backend=c10d --rdzv-endpoint="$first:29400" --rdzv-id=vig \
  "${VIG:-vig}" train "$data" --out "$run" "$@"
