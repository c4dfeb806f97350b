#!/bin/bash
# Tricky: how many workers there are is not written anywhere: nvidia-smi is asked.
#PBS -l select=1:ncpus=8:ngpus=4
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=$(nvidia-smi -L | wc -l) train.py
