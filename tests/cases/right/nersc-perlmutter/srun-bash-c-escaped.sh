#!/bin/bash
#SBATCH --account=m1234
#SBATCH --constraint=gpu&hbm80g
#SBATCH --qos=debug
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=32
#SBATCH --time=00:30:00

export MASTER_ADDR=$(hostname)
export MASTER_PORT=29500
srun bash -c "export RANK=\$SLURM_PROCID LOCAL_RANK=\$SLURM_LOCALID WORLD_SIZE=\$SLURM_NTASKS; python train.py"
