#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --time=02:00:00
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
export MASTER_PORT=29415
export OMP_NUM_THREADS=8
srun --cpu-bind=none torchrun --nnodes=$SLURM_NNODES --nproc-per-node=4 --master-addr $MASTER_ADDR --master-port $MASTER_PORT src/run.py --cfg c.yaml
