#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
accelerate launch train.py --num_processes 4 --multi_gpu
