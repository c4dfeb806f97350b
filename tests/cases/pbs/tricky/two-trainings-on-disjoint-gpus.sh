#!/bin/bash
# Tricky: two torchruns at once on one node, each with two GPUs and a port of its own.
#PBS -l select=1:ncpus=16:ngpus=4
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 --master_port=29500 train.py --fold 0 &
CUDA_VISIBLE_DEVICES=2,3 torchrun --nproc_per_node=2 --master_port=29501 train.py --fold 1 &
wait
