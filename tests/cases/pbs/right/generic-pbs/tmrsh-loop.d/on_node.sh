#!/bin/bash
cd "$4" || exit 1
export OMP_NUM_THREADS=2
exec torchrun --nnodes="$2" --nproc_per_node=4 --node_rank="$1" --master_addr="$3" --master_port=29500 pretrain.py
