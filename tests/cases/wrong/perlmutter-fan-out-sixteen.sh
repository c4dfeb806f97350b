#!/bin/bash
# Wrong: torchrun under four tasks a node starts sixteen workers a node.
# site: nersc-perlmutter
#SBATCH -A m1_g -C gpu -q debug -t 10 -N 2 --ntasks-per-node=4 --gpus-per-node=4 -c 32
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
