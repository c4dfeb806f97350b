#!/bin/bash
#SBATCH -N2 --ntasks-per-node=4 --gpus-per-node=4
export MASTER_ADDR=$(hostname) MASTER_PORT=29500 WORLD_SIZE=8
srun bash -c "
export RANK=\$SLURM_PROCID
export LOCAL_RANK=\$SLURM_LOCALID
python train.py"
