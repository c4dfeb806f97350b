#!/bin/bash
#SBATCH -N1 --gpus-per-node=4
export MASTER_ADDR=localhost
torchrun --nnodes=1 --nproc_per_node=4 --master_addr=$MASTER_ADDR train.py
