#!/bin/bash
# Tricky: the script asks for its allocation itself; as a batch job it has the srun line only.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
if [ -z "$SLURM_JOB_ID" ]; then
    exec salloc -N 4 --gpus-per-node=8 bash "$0" "$@"
fi
srun -n1 torchrun --standalone --nproc_per_node=2 train.py
