#!/bin/bash
#SBATCH -J gpt2-owt
#SBATCH -A m4321_g
#SBATCH -C gpu
#SBATCH -q regular
#SBATCH -N 4
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH -c 32
#SBATCH -t 06:00:00
#SBATCH -o gpt2-%j.log

module load pytorch/2.3.1

export OMP_NUM_THREADS=8
export HF_HOME=$PWD/hf-cache
export NCCL_DEBUG=WARN
export MASTER_PORT=29500

echo "job $SLURM_JOB_ID on $SLURM_JOB_NODELIST"

# every node finds out its own name, so that the workers know where to connect
srun bash -c '
    torchrun --nnodes=$SLURM_NNODES --nproc-per-node=4 \
        --rdzv-backend=c10d --rdzv-id=$SLURM_JOB_ID \
        --rdzv-endpoint=$(hostname):$MASTER_PORT \
        train.py --config gpt2-medium.yaml
'
