#!/bin/bash
# Tricky: the environment file mounts scontrol into the image.
# lab: no (no container engine)
#SBATCH -N 4 --ntasks-per-node=8 --gpus-per-node=8 --exclusive
srun --environment=/capstor/u/ngc.toml bash -c 'MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1) RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS python train.py'
