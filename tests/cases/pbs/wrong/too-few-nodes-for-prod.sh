#!/bin/bash
# wrong: prod begins at ten nodes; with two, none of the queues behind it takes the job.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q prod
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 --ppn 1 torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_id=1 --rdzv_endpoint=$HEAD:29500 train.py
