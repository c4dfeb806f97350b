#!/bin/bash
# wrong: srun belongs to Slurm; here is no such command.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
HEAD=$(head -n 1 $PBS_NODEFILE)
srun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_id=1 --rdzv_endpoint=$HEAD:29500 train.py
