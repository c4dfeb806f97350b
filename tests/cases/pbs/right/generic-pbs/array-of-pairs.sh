#!/bin/bash
#PBS -J 0-1
#PBS -l select=1:ncpus=4:ngpus=2
#PBS -l walltime=01:00:00
#PBS -o logs/
#PBS -j oe

cd $PBS_O_WORKDIR
port=$(( 29500 + PBS_ARRAY_INDEX ))
torchrun --nproc_per_node=2 --master_port=$port train.py --fold $PBS_ARRAY_INDEX
