#!/bin/bash
# wrong: the queue debug ends at two nodes.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=4
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 4 --ppn 1 torchrun --nnodes=4 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_id=1 --rdzv_endpoint=$HEAD:29500 train.py
