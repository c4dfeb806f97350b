#!/bin/bash
# Tricky: srun -N1 -n1 --exclusive & many times packs independent runs into the allocation.
#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2
for seed in 1 2 3 4; do
    srun -N1 -n1 --gpus=1 --exclusive python train_single.py --seed $seed &
done
wait
