#!/bin/bash
#SBATCH --job-name=vig
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=TERM@180
# One training run over all tasks of the job:
#   sbatch slurm.sh DATA RUN [OPTIONS OF vig train]
# Address, port, ranks and threads follow from Slurm's variables. When the job is preempted, a node fails
# or the time is nearly over, the job goes back into the queue, and the same script resumes the run from
# its checkpoint, also with other --nodes.
set -euo pipefail
data=$1 run=$2
shift 2

status=0
srun --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" --kill-on-bad-exit=1 \
  "${VIG:-vig}" train "$data" --out "$run" "$@" || status=$?
# SIGTERM has stopped the run after an optimiser step: the time is nearly over.
if ((status == 143)); then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$status"
