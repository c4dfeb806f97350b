#!/bin/bash
#SBATCH -A bdaa-dtai-gh
#SBATCH -p ghx4
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gres=gpu:4
#SBATCH --mem=360g
#SBATCH -t 00:30:00

MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) MASTER_PORT=29500 WORLD_SIZE=$SLURM_NTASKS \
  srun --export=ALL bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID exec python train.py --dist-url env://'
