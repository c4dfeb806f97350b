#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
accelerate launch --num_processes 1 \ 
    train.py --lr 1e-4
