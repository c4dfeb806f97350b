#!/bin/bash
# Tricky: --map-by ppr:1:node makes one task a node of a job with eight slots.
# site: purdue-anvil
#SBATCH -A cis220051-gpu -p gpu -t 10
#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4
export HEAD=$(hostname)
mpirun -np 2 --map-by ppr:1:node bash -c 'torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$OMPI_COMM_WORLD_RANK --master_addr=$HEAD --master_port=29500 train.py'
