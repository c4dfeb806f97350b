#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
torchrun --help
accelerate launch -h
deepspeed --help
srun python train.py
