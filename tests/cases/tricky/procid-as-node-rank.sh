#!/bin/bash
# Tricky: SLURM_PROCID is the node rank where there is one task a node.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
export M=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun bash -c 'torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$SLURM_PROCID --master_addr=$M --master_port=29500 train.py'
