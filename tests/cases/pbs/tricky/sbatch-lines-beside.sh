#!/bin/bash
# Tricky: one file for two clusters; qsub takes the #SBATCH lines for comments.
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#PBS -l select=1:ncpus=8:ngpus=2
#PBS -l walltime=00:30:00
cd ${SLURM_SUBMIT_DIR:-$PBS_O_WORKDIR}
torchrun --standalone --nproc_per_node=2 train.py
