#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
python train.py
