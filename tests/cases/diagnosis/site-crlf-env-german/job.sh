#!/bin/bash
#SBATCH --nodes=1 --gres=gpu:4
#SBATCH --time=02:00:00
source ~/setup_env.sh
torchrun --standalone --nproc_per_node=$GPUS train.py
