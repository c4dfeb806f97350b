#!/bin/bash
# Tricky: APPTAINERENV_ names reach a cleaned environment.
# lab: no (no apptainer)
#SBATCH -N 4 --ntasks-per-node=8 --gpus-per-node=8 --exclusive
export APPTAINERENV_MASTER_ADDR=$(hostname) APPTAINERENV_MASTER_PORT=29500
srun bash -c 'APPTAINERENV_RANK=$SLURM_PROCID APPTAINERENV_LOCAL_RANK=$SLURM_LOCALID APPTAINERENV_WORLD_SIZE=$SLURM_NTASKS apptainer exec -e --nv img.sif python train.py'
