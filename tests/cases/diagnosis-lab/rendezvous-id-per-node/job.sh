#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
#SBATCH --time=10:00
export HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
srun bash -c 'torchrun --nnodes=2 --nproc_per_node=2 --rdzv_id=$(hostname) --rdzv_backend=c10d --rdzv_conf=join_timeout=25 --rdzv_endpoint=$HEAD:29500 train.py'
