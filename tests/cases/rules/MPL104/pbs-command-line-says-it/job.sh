#!/bin/bash
#SBATCH --nodes=2
#SBATCH --time=01:00:00
python train.py
