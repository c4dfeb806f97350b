#!/bin/bash
# wrong: --nnodes=4 was right for the job that this one was copied from; it has two nodes.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 --ppn 1 bash -c 'torchrun --nnodes=4 --nproc_per_node=4 --node_rank=$PALS_NODEID --master_addr=$HEAD --master_port=29500 train.py'
