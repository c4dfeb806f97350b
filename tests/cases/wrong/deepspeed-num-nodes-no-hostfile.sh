#!/bin/bash
# Wrong: --num_nodes=2 without a hostfile, and started twice.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
srun deepspeed --num_nodes=2 --num_gpus=2 train.py
