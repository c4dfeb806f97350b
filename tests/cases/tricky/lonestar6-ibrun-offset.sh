#!/bin/bash
# Tricky: ibrun -n/-o in the background splits the tasks between two programs.
# site: tacc-lonestar6
#SBATCH -p gpu-a100 -N 2 -n 2 -t 00:10:00
ibrun -n 1 -o 0 python train_single.py --arm 0 &
ibrun -n 1 -o 1 python train_single.py --arm 1 &
wait
