#!/bin/bash
# Tricky: one srun a node in a loop, each with its own node rank, in the background.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
for i in "${!nodes[@]}"; do
    srun -N1 -n1 -w "${nodes[$i]}" torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$i --master_addr=${nodes[0]} --master_port=29500 train.py &
done
wait
