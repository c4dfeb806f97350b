#!/usr/bin/env bash
#SBATCH --job-name=tf-two-node
#SBATCH --account=abc123
#SBATCH --partition=gpu
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=10
#SBATCH --gpus=8
#SBATCH --mem=200G
#SBATCH --time=01:00:00
#SBATCH --no-requeue

module purge
module load singularitypro 2>/dev/null
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
export MASTER_PORT=29500
srun bash -c 'export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID; singularity exec --bind /scratch,/expanse --nv pytorch.sif python3 train.py'
