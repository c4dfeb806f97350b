#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --ntasks=2 --ntasks-per-node=1 --cpus-per-task=8 bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' bash --nnodes=2 --nproc_per_node=4 --master_addr=$HEAD train.py
