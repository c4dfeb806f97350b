#!/bin/bash
# Tricky: --standalone on two nodes: two models, each on a node of its own.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
mpiexec -n 2 --ppn 1 --cpu-bind none bash -c 'torchrun --standalone --nproc_per_node=4 train.py --seed $PALS_NODEID'
