#!/bin/bash
#SBATCH -A m4567_g -C gpu -q regular
#SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-task=128
#SBATCH -t 6:00:00

nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )
nodes_array=($nodes)
head_node=${nodes_array[0]}
echo Head node: $head_node
export LOGLEVEL=INFO

srun torchrun \
  --nnodes $SLURM_NNODES \
  --nproc_per_node 4 \
  --rdzv_id $RANDOM \
  --rdzv_backend c10d \
  --rdzv_endpoint $head_node:29500 \
  train.py 50 10
