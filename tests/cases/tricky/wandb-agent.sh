#!/bin/bash
# Tricky: a sweep agent starts the trainings; one process on four GPUs is its way.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4
# lab: no (no wandb there)
for gpu in 0 1 2 3; do
    CUDA_VISIBLE_DEVICES=$gpu wandb agent --count 5 team/project/abc123 &
done
wait
