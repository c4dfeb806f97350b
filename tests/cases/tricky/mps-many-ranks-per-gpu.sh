#!/bin/bash
# Tricky: eight ranks on four GPUs on purpose, through MPS; the program is no torch launcher's child.
#SBATCH --nodes=1 --ntasks-per-node=8 --gpus-per-node=4
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps-$SLURM_JOB_ID
nvidia-cuda-mps-control -d 2>/dev/null || true
srun ./simulate_mps input.dat
