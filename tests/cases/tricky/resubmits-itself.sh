#!/bin/bash
# Tricky: the script submits its follower with sbatch; that is another job.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
STEP=${STEP:-9}
if [ "$STEP" -lt 9 ]; then
    STEP=$((STEP + 1)) sbatch --dependency=afterany:$SLURM_JOB_ID "$0"
fi
torchrun --standalone --nproc_per_node=2 train.py --step $STEP
