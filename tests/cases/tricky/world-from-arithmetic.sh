#!/bin/bash
# Tricky: numbers by let, expr, (( )) and bc-less arithmetic.
#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2
let "PER=SLURM_NTASKS / SLURM_NNODES"
TOTAL=$(expr $PER \* $SLURM_NNODES)
(( PORT = 29500 + SLURM_JOB_ID % 100 ))
export WORLD_SIZE=$TOTAL MASTER_PORT=$PORT MASTER_ADDR=$(scontrol show hostname $SLURM_NODELIST | head -1)
srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$((SLURM_PROCID % 2)) python train.py'
