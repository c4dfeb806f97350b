#!/bin/bash
# Tricky: srun bash -x script, with the script beside it: unknown unless it is read.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
export HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun bash -eu worker.sh
