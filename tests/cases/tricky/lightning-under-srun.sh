#!/bin/bash
# Tricky: no RANK, no MASTER_ADDR: Lightning reads SLURM_* by itself.
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
export NCCL_DEBUG=INFO
export PYTHONFAULTHANDLER=1
srun python train_lightning.py --num_nodes 2 --devices 4 --strategy ddp
