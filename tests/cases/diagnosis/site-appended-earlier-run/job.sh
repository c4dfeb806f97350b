#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=2
#SBATCH --gres=gpu:2
#SBATCH --output=train.log
#SBATCH --open-mode=append
echo "==== job $SLURM_JOB_ID on $(hostname) at $(date) ===="
source /work/ml/env/bin/activate
export MASTER_ADDR=$(hostname) MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000)) NCCL_DEBUG=INFO
srun python train.py --batch-size 512
