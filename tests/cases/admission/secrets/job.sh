#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
python train.py --hf_token hf_abcdefghijklmnopqrstuvwxyzABCDEFGH --data s3://user:Pa55w0rdX@host/d --model gpt2
