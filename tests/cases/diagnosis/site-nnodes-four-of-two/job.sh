#!/bin/bash
#SBATCH -J train
#SBATCH -o %x.o%j
#SBATCH -p gh
#SBATCH -N 2
#SBATCH -n 2
#SBATCH -t 02:00:00
#SBATCH -A ASC25001
module load gcc/14.2.0 cuda/12.5
source $WORK/env/bin/activate
export HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun torchrun --nnodes=4 --nproc_per_node=1 --rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
