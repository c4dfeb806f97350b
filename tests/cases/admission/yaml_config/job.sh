#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
python main.py --config configs/base.yaml --lr 0.2 --data train.json
