#!/bin/bash
#SBATCH -p batch
#SBATCH --account=abc123
#SBATCH --time=01:00:00
#SBATCH --nodes=4

# the program reads SLURM_PROCID, SLURM_NTASKS and SLURM_LOCALID itself
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
export MASTER_PORT=29500
srun -n32 --ntasks-per-node=8 -c7 --gpus-per-node=8 python train.py --launcher slurm
