#!/bin/bash
# Tricky: PBS_NODENUM is expanded too early, 0 for both: with the c10d rendezvous nobody asks for it.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 --ppn 1 torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$PBS_NODENUM \
    --rdzv_backend=c10d --rdzv_id=77 --rdzv_endpoint=$HEAD:29500 train.py
