#!/bin/bash
# Tricky: --include localhost:0,1 picks two of four GPUs.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4
deepspeed --include localhost:0,1 train.py --deepspeed ds.json
