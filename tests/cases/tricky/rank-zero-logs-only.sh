#!/bin/bash
# Tricky: the task shell tests its rank; every task still runs the program.
#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2
export MASTER_ADDR=$(hostname) MASTER_PORT=29500
srun bash -c '
if [ "$SLURM_PROCID" = 0 ]; then echo "world of $SLURM_NTASKS"; fi
export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID
exec python train.py'
