#!/bin/bash
# Wrong: two trainings at once on one node with one master port.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4
CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 --master_port=29500 train.py --fold 0 &
CUDA_VISIBLE_DEVICES=2,3 torchrun --nproc_per_node=2 --master_port=29500 train.py --fold 1 &
wait
