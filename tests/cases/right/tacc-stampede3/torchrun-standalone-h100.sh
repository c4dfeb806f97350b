#!/bin/bash
#SBATCH -J llm
#SBATCH -p h100
#SBATCH -N 1
#SBATCH -n 1
#SBATCH -t 24:00:00
#SBATCH -o llm.o%j
#SBATCH -e llm.e%j

export HF_HOME=/tmp/hf
torchrun --standalone --nproc_per_node=4 train.py --bf16
