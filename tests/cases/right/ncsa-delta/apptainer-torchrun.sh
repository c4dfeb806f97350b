#!/bin/bash
#SBATCH --account=bbka-delta-gpu
#SBATCH --partition=gpuA40x4
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --gpus-per-node=4
#SBATCH --mem=64g
#SBATCH --time=04:00:00

IMG=/projects/bbka/pytorch_24.06.sif
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
srun apptainer exec --nv --bind /projects,/scratch $IMG \
    torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d \
             --rdzv-endpoint=$HEAD:29400 --rdzv-id=$SLURM_JOB_ID train.py
