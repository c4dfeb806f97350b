#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
srun torchrun --nproc-per-node=1 launch.py --nnodes 2 --nproc_per_node 4
