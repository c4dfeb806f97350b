#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
export MASTER_ADDR=$(hostname) MASTER_PORT=29500 WORLD_SIZE=2 RANK=$SLURM_PROCID
srun apptainer exec --nv i.sif bash -c 'export RANK=$SLURM_PROCID; exec "$@"' bash python train.py
