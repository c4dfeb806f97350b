#!/bin/bash
#SBATCH -N1 --ntasks=4 --gpus=4 -o tok.out
srun -l python tok.py
