#!/bin/bash
ibrun torchrun --nnodes=2 --nproc-per-node=3 --rdzv-backend=c10d --rdzv-endpoint="$(hostname):29500" train.py
