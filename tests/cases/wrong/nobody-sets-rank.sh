#!/bin/bash
# Wrong: a world size and a master are exported, but no rank: the program gives up.
#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) MASTER_PORT=29500
export WORLD_SIZE=4
srun bash -c 'LOCAL_RANK=$SLURM_LOCALID python train_env.py --init env://'
