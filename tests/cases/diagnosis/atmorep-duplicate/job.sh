#!/bin/bash -x
#SBATCH --account=ab1412
#SBATCH --partition=gpu
#SBATCH --time=00:10:00
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=32
#SBATCH --gres=gpu:4
#SBATCH --chdir=.
#SBATCH --output=logs/atmorep-%x.%j.out
#SBATCH --error=logs/atmorep-%x.%j.err
module load python3/2023.01-gcc-11.2.0 nvhpc/23.9-gcc-11.2.0
source pyenv/bin/activate
export UCX_TLS="^cma"
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
export CUDA_VISIBLE_DEVICES=0,1,2,3
export MASTER_ADDR="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"
echo "MASTER_ADDR: $MASTER_ADDR"
export NCCL_DEBUG=TRACE
echo "nccl_debug: $NCCL_DEBUG"
srun --label --cpu-bind=v --accel-bind=v python -u atmorep/core/train.py
