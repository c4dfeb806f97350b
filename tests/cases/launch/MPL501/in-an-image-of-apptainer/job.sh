#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
export MASTER_ADDR=localhost MASTER_PORT=29500 WORLD_SIZE=2
srun apptainer exec --nv i.sif bash -c 'RANK=$SLURM_PROCID python train.py'
