#!/bin/bash
# Tricky: four single-GPU trainings at once; nothing is distributed.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4
for i in 0 1 2 3; do
    CUDA_VISIBLE_DEVICES=$i python train_single.py --seed $i > seed$i.log &
done
wait
