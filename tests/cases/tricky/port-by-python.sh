#!/bin/bash
# Tricky: a free port asked of a python one-liner; unknown, but one value for all.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
torchrun --nproc_per_node=2 --master_port=$PORT train.py
