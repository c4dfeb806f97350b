#!/bin/bash -x
#SBATCH --account=cstdl
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:4
#SBATCH --partition=booster
#SBATCH --time=01:00:00
#SBATCH --output=mpi-out.%j
#SBATCH --error=mpi-err.%j
module load Stages/2025 CUDA/12
source /p/project1/cstdl/venv/bin/activate
echo "START TIME: $(date)"
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
MASTER_PORT=6000
echo "MASTER_ADDR=$MASTER_ADDR"
srun --cpu-bind=none bash -c "torchrun --nnodes=$SLURM_NNODES --nproc-per-node=4 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:$MASTER_PORT train.py"
