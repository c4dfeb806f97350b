#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
accelerate launch --multi_gpu --num_processes 4 --num_machines 1
