#!/bin/bash
#SBATCH -A abc123
#SBATCH -J ddp
#SBATCH -o logs-%j.o
#SBATCH -t 00:30:00
#SBATCH -p batch
#SBATCH -N 2

module load PrgEnv-gnu/8.6.0
module load rocm/6.2.4

export MASTER_ADDR=$(hostname -i)
export MASTER_PORT=3442
export NCCL_SOCKET_IFNAME=hsn0
export OMP_NUM_THREADS=7

srun -N2 -n16 -c7 --gpus-per-task=1 bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=0 python3 -W ignore -u train.py'
