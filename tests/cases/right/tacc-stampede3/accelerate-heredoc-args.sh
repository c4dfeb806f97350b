#!/bin/bash
#SBATCH -J sft
#SBATCH -p h100
#SBATCH -N 1
#SBATCH --ntasks-per-node=1
#SBATCH -t 10:00:00

ARGS=(
  --model_name_or_path meta-llama/Llama-3.1-8B
  --per_device_train_batch_size 2
  --gradient_accumulation_steps 8
  --report_to none
)

accelerate launch \
    --multi_gpu \
    --num_machines 1 \
    --num_processes 4 \
    --mixed_precision bf16 \
    sft.py "${ARGS[@]}"
