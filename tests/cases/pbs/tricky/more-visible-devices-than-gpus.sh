#!/bin/bash
# Tricky: eight visible devices on nodes with four: CUDA stops reading at the first that is not there.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7
torchrun --standalone --nproc_per_node=4 train.py
