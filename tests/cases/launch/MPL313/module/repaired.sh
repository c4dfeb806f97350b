#!/bin/bash
#SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=4
accelerate launch --multi_gpu --num_processes 4 -m pkg.train
