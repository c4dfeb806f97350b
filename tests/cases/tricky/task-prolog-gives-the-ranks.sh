#!/bin/bash
# Tricky: the prolog of the tasks prints export lines.
# lab: no (no such prolog)
#SBATCH -N 4 --ntasks-per-node=1 --gpus-per-node=8 --exclusive
export MASTER_PORT=29500
srun --task-prolog=/opt/site/prolog.sh bash -c 'torchrun --nnodes=4 --nproc-per-node=8 --node_rank=$NODE_RANK --master_addr=$MASTER_ADDR train.py'
