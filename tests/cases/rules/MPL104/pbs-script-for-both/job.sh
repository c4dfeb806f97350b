#!/bin/bash
#SBATCH --nodes=2
#PBS -l select=2
python train.py
