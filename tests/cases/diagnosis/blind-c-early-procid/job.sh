#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun bash -c "torchrun --nnodes $SLURM_NNODES --nproc_per_node 4 --node_rank $SLURM_PROCID --rdzv_backend static --master_addr $MASTER_ADDR --master_port 29500 train.py"
