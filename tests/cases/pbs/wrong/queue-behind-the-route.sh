#!/bin/bash
# wrong: small is behind prod and cannot be named.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q small
#PBS -l select=10
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 10 --ppn 1 torchrun --nnodes=10 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_id=1 --rdzv_endpoint=$HEAD:29500 train.py
