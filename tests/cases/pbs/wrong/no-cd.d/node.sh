#!/bin/bash
torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_id=3 --rdzv_endpoint="$HEAD":29500 train.py
