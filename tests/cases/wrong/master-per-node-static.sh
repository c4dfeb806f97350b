#!/bin/bash
# Wrong: every node takes itself for the master.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
export MASTER_PORT=29500
srun bash -c 'export MASTER_ADDR=$(hostname); torchrun --nnodes=2 --nproc_per_node=2 --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT --node_rank=$SLURM_NODEID train.py'
