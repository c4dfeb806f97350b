#!/bin/bash
# Tricky: as submitit writes it: srun of a python module that reads SLURM_* from its job environment.
#SBATCH --gpus-per-node=4
#SBATCH --job-name=submitit
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --open-mode=append
#SBATCH --signal=USR2@90
#SBATCH --wckey=submitit
# command
export SUBMITIT_EXECUTOR=slurm
srun --unbuffered --output log_%j_%t_log.out --error log_%j_%t_log.err python3 -u -m submitit.core._submit logs
