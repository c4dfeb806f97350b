#!/bin/bash
# Tricky: --export=ALL,MASTER_PORT=… on srun gives the tasks what the batch shell does not have.
#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun --export=ALL,MASTER_ADDR=$HEAD,MASTER_PORT=29533,WORLD_SIZE=$SLURM_NTASKS bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'
