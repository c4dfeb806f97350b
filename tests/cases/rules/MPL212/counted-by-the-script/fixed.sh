#!/bin/bash
#SBATCH --nodes=2
##SBATCH --gpus-per-node=4
#SBATCH --gres=gpu:a100:4
echo $SLURM_GPUS_PER_NODE
