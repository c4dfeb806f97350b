#!/bin/bash
#SBATCH --job-name=Train_mrVI_L40S         # Job name
#SBATCH -A lab_gpu                     # Account
#SBATCH -p gpu32                           # Partition with L40S GPUs
#SBATCH --nodes=1                          # Number of nodes
#SBATCH --ntasks=1                         # Number of tasks
#SBATCH --gres=gpu:L40S:1                  # GPU: L40S (3x faster than A30)
#SBATCH --error=err_mrvi_l40s_%j.log       # Error log file
#SBATCH --output=out_mrvi_l40s_%j.log      # Output log file
#SBATCH --time=12:00:00                    # Time limit (12 hours)
python train_mrvi.py
