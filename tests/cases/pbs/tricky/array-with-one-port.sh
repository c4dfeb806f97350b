#!/bin/bash
# Tricky: four members with one fixed port: each is a job of its own.
#PBS -J 1-4
#PBS -l select=1:ncpus=4:ngpus=2
#PBS -l place=excl
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --nproc_per_node=2 --master_port=29500 train.py --seed ${PBS_ARRAY_INDEX}
