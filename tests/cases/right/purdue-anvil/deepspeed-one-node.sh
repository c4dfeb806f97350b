#!/bin/bash
#SBATCH -A cis220051-ai
#SBATCH -p ai
#SBATCH --nodes=1
#SBATCH --gpus-per-node=4
#SBATCH --ntasks=1
#SBATCH -t 01:00:00

module load modtree/gpu
deepspeed --num_gpus=4 train.py --deepspeed --deepspeed_config ds_zero3.json
