#!/bin/bash
# Tricky: --ntasks-per-node=4 on srun has no effect: SLURM_NTASKS=2 of the job wins, so torchrun runs once a node.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun --ntasks-per-node=4 torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
