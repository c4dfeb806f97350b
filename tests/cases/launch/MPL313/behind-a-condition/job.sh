#!/bin/bash
#SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=4
if grep -q old /etc/os-release; then torchrun --nproc_per_node=4 python train.py; fi
