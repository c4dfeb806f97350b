#!/bin/bash
# Tricky: an echo speaks of torchrun --nproc_per_node=64; nobody runs it.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=1
echo "to run by hand: torchrun --nnodes=9 --nproc_per_node=64 train.py"
printf 'srun -n 512 %s\n' python
python train_single.py
