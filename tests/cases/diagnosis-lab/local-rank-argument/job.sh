#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
#SBATCH --time=10:00
python -m torch.distributed.launch --nproc_per_node=2 --master_port=29507 old.py --lr 0.1
