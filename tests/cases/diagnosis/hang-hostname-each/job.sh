#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --time=02:00:00
MASTER_PORT=29431
export MASTER_PORT
srun bash -c 'export MASTER_ADDR=$(hostname); torchrun --nnodes=2 --nproc_per_node=4 --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT --node_rank=$SLURM_NODEID train.py'
