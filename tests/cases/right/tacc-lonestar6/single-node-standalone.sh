#!/bin/bash
#SBATCH -J finetune
#SBATCH -p gpu-a100-dev
#SBATCH -N 1
#SBATCH -n 1
#SBATCH -t 01:30:00
#SBATCH -A MYPROJ

cd $SLURM_SUBMIT_DIR
export OMP_NUM_THREADS=32
torchrun --standalone --nproc_per_node=3 train.py --epochs 10
