#!/bin/bash
# One training run with Open MPI, two processes on each of some hosts, or on this one without HOSTS:
#   HOSTS=node1,node2 ./mpirun.sh DATA RUN [OPTIONS OF vig train]
# Only ranks and addresses come from MPI; the processes speak with each other over Gloo.
set -euo pipefail
data=$1 run=$2
shift 2

where=(-np 2)
if [[ -n ${HOSTS:-} ]]; then
  # Process 0 runs on the first host. mpirun does not tell that to the others.
  where=(--host "${HOSTS//,/:2,}:2" -x "MASTER_ADDR=${HOSTS%%,*}")
fi
exec mpirun "${where[@]}" --bind-to none "${VIG:-vig}" train "$data" --out "$run" "$@"
