#!/bin/bash
#PBS -A AlphaTrain
#PBS -q preemptable
#PBS -l select=1
#PBS -l walltime=02:00:00
#PBS -l filesystems=home:eagle
#PBS -J 1-3
#PBS -r y

cd $PBS_O_WORKDIR
export CUDA_VISIBLE_DEVICES=0
python train_single.py --seed $PBS_ARRAY_INDEX
