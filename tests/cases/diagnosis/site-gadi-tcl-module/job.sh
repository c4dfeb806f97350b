#!/bin/bash
#PBS -P vp91
#PBS -q gpuvolta
#PBS -l ncpus=48,ngpus=4,mem=190GB,walltime=01:00:00
#PBS -l wd
#PBS -j oe
#PBS -N tr

module use /g/data/dk92/apps/Modules/modulefiles
module load pytorch/2.1.0
export OMP_NUM_THREADS=12
torchrun --standalone --nproc_per_node=4 train.py
