#!/bin/bash
#PBS -A AlphaTrain
#PBS -q capacity
#PBS -l select=1
#PBS -l walltime=02:00:00
#PBS -l filesystems=flare
#PBS -J 0-2
#PBS -N sweep

cd $PBS_O_WORKDIR
rates=(1e-3 5e-4 1e-4)
lr=${rates[$PBS_ARRAY_INDEX]}
echo "member $PBS_ARRAY_INDEX trains with $lr"
torchrun --standalone --nproc_per_node=12 train.py --lr $lr --out out.$PBS_ARRAY_INDEX
