#!/bin/bash
#SBATCH --job-name=vig-seeds
#SBATCH --array=0-4
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
# One training run for each task of an array, with its own seed and folder:
#   sbatch slurm_array.sh DATA RUNS [OPTIONS OF vig train]
set -euo pipefail
data=$1 runs=$2
shift 2

exec "${VIG:-vig}" train "$data" --out "$runs/seed-$SLURM_ARRAY_TASK_ID" --seed "$SLURM_ARRAY_TASK_ID" "$@"
