#!/bin/bash
# Tricky: the count depends on the host; Maple cannot know which branch is taken.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
case "$(hostname)" in
    dgx*) NPROC=16 ;;
    *) NPROC=2 ;;
esac
torchrun --standalone --nproc_per_node=$NPROC train.py
