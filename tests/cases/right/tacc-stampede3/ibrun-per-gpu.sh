#!/bin/bash
#SBATCH -J horovod
#SBATCH -p h100
#SBATCH -N 2
#SBATCH --ntasks-per-node=4
#SBATCH -t 05:00:00

export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=29501
ibrun bash -c 'export RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$MPI_LOCALRANKID; python train.py'
