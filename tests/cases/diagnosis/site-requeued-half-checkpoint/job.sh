#!/bin/bash
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --nodes=1 --ntasks=4 --gres=gpu:4 --time=24:00:00
echo "restart count: ${SLURM_RESTART_COUNT:-0}"
source ~/env/bin/activate
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -1) MASTER_PORT=29871
srun python train.py --resume auto
