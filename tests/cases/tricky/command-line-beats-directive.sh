#!/bin/bash
# Tricky: the directive says four tasks a node, the command line says one.
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
