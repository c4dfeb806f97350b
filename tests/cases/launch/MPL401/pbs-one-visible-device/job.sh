#!/bin/bash
#PBS -l select=1:ncpus=8:ngpus=4
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
export CUDA_VISIBLE_DEVICES=0
torchrun --standalone --nproc_per_node=4 train.py
