#!/bin/bash
#SBATCH --nodes=1 --gpus-per-node=4
accelerate launch --num_processes 4 --mixed_precision bf16 --use_deepspeed --zero_stage 2 \
    --gradient_accumulation_steps=8 train.py --gradient_accumulation_steps 4
