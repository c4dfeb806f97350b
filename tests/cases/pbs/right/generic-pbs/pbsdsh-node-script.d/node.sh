#!/bin/bash
# One node: folder, head, number of nodes, own number.
cd "$1" || exit 1
torchrun --nnodes="$3" --nproc_per_node=4 --node_rank="$4" --master_addr="$2" --master_port=29500 train.py
