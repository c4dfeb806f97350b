#!/bin/bash
# Tricky: behind exit stands a payload, which is not shell.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
torchrun --standalone --nproc_per_node=2 train.py
exit 0
__PAYLOAD__
srun torchrun --nproc_per_node=99 "unclosed
$((
