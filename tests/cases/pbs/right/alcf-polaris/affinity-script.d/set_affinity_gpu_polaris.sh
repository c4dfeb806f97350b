#!/bin/bash
# GPU order runs against core order on these nodes: local rank 0 takes GPU 3.
gpus=4
export CUDA_VISIBLE_DEVICES=$(( gpus - 1 - PMI_LOCAL_RANK % gpus ))
export RANK=$PMI_RANK
export LOCAL_RANK=0
exec "$@"
