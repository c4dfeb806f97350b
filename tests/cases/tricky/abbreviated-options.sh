#!/bin/bash
# Tricky: argparse takes unambiguous abbreviations: --nproc_per, --rdzv_e, --rdzv_b.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun torchrun --nn 2 --nproc_per 4 --rdzv_b c10d --rdzv_i 5 --rdzv_e $HEAD:29500 train.py
