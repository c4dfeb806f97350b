#!/bin/bash
# Tricky: a wrong launch line in a function that nobody calls.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
old_way() {
    srun -n 16 torchrun --nproc_per_node=16 train.py
}
torchrun --standalone --nproc_per_node=2 train.py
