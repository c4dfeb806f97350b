#!/bin/bash
# Tricky: srun bash reads the launch line from a quoted here-document, on each node.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
srun -N1 -n1 bash <<'IN'
torchrun --nnodes=1 --nproc_per_node=2 --node_rank=$SLURM_NODEID --master_port=29511 train.py
IN
