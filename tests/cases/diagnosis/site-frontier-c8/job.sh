#!/bin/bash
#SBATCH -A CLI133
#SBATCH -N 4
#SBATCH -t 00:30:00
#SBATCH -o crusher.%j.out
module load rocm
date
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1) MASTER_PORT=29500
srun -N 4 -n 32 -c 8 --gpus-per-node=8 --gpu-bind=closest python train.py
rc=$?
date
exit $rc
