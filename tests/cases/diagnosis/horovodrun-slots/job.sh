#!/bin/bash
#SBATCH -N 1
#SBATCH --gres=gpu:2
horovodrun -np 2 -H localhost python train.py
