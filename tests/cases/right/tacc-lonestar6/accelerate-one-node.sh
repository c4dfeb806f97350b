#!/bin/bash
#SBATCH --job-name=lora
#SBATCH --partition=gpu-a100
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --time=12:00:00

set -e
module purge
module load python3/3.9.7 cuda/12.0
source $HOME/venvs/lora/bin/activate 2>/dev/null || true

accelerate launch --multi_gpu --num_processes 3 ./finetune.py --model_name_or_path llama --output_dir out
