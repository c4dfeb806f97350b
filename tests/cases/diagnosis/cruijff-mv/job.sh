#!/bin/bash
#SBATCH --gres=gpu:1
#SBATCH --mem=64G
#SBATCH --time=01:00:00
cd /scratch/gpfs/run_name
tune run lora_finetune_single_device --config finetune.yaml
[ $? == 0 ] && mv slurm-${SLURM_JOB_ID}.out /scratch/gpfs/outputs/
