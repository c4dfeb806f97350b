#!/bin/bash
#SBATCH -A bdaa-dtai-gh
#SBATCH -p ghx4
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --mem=200g
#SBATCH -t 00:30:00

python -m torch.distributed.launch --nproc_per_node=4 --use_env --master_port=29611 train.py
