#!/bin/bash
#SBATCH --job-name=train
python train.py
