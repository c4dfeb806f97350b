#!/bin/bash
#SBATCH -A CSC512
#SBATCH -J gpt
#SBATCH -N 2
#SBATCH -t 02:00:00
#SBATCH -o gpt-%j.out
module load PrgEnv-gnu/8.5.0 rocm/6.2.4
source /lustre/orion/csc512/proj-shared/miniforge3/etc/profile.d/conda.sh
conda activate /lustre/orion/csc512/proj-shared/envs/rocm62
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1) MASTER_PORT=3442
srun -l -N2 -n16 -c7 --gpus-per-task=1 --gpu-bind=closest python train_gpt.py --micro-batch 8 --from-slurm
