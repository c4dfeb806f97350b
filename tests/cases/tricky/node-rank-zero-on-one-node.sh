#!/bin/bash
# Tricky: --node_rank=0 and --nnodes=1 are right on one node.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
python -m torch.distributed.launch --nproc_per_node=2 --nnodes=1 --node_rank=0 --master_addr=localhost --master_port=29503 train.py --local-rank-not-needed
