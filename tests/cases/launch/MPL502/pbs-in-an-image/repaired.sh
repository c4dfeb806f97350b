#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
mpiexec -n 2 --ppn 1 apptainer exec --nv i.sif bash -c 'torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint='"$(head -n 1 "$PBS_NODEFILE")"':29500 train.py'
