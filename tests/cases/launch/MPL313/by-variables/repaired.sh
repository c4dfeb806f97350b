#!/bin/bash
#SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=4
RUN="train.py"; torchrun --nproc_per_node=4 $RUN
