#!/bin/bash
#SBATCH -A m4012_g
#SBATCH -C gpu
#SBATCH -q regular
#SBATCH -N 2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH -c 32
#SBATCH -t 06:00:00
set -x
module load pytorch/2.6.0
export MASTER_PORT=29517
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
srun -u bash -c '
    export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS
    python -u pretrain_climate.py --config configs/era5_025.yaml --workers 16
'
