#!/bin/bash
#PBS -P vp91
#PBS -q gpuvolta
#PBS -l ncpus=48,ngpus=4,mem=190GB,jobfs=100GB,walltime=12:00:00
#PBS -l storage=gdata/dk92+scratch/vp91
#PBS -l wd
#PBS -N sar
module load cuda/12.3.2
torchrun --standalone --nproc_per_node=4 train.py --workers 48
