#!/bin/bash
# Tricky: --gpus is the total of the job here, so eight over two nodes are four a node.
# site: sdsc-expanse
#SBATCH -A abc123
#SBATCH -p gpu
#SBATCH -N 2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus=8
#SBATCH --mem=100G
#SBATCH -t 30
M=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$M:29500 train.py
