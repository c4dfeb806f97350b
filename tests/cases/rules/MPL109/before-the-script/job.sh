#!/bin/bash
#SBATCH --ntasks-per-node=1 --gpus-per-node=4
CONFIG=${1:-base.yaml}
srun python train.py --config "$CONFIG"
