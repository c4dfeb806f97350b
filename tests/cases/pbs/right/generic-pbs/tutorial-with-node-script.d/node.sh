#!/bin/bash
cd "$1" || exit 1
nodes=$2 rank=$3 head=$4 port=$5
module load pytorch > /dev/null 2>&1
torchrun --nnodes=$nodes --nproc_per_node=4 --node_rank=$rank --rdzv_id=100 --rdzv_backend=c10d \
    --rdzv_endpoint=$head:$port multi_node.py
