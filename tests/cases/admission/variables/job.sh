#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
BS=48
OUT=/scratch/run1
python train.py -b $BS --output_dir $OUT
