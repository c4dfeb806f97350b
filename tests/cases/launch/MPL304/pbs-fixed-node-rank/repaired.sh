#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 --ppn 1 bash -c 'exec torchrun --node_rank="$PALS_NODEID" "$@"' bash --nnodes=2 --nproc_per_node=4 --master_addr=$HEAD --master_port=29500 train.py
