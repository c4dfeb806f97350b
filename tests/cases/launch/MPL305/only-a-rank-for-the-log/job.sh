#!/bin/bash
#SBATCH -N2 --ntasks-per-node=4 --gpus-per-node=4
export RANK=$SLURM_PROCID
srun python train_lightning.py
