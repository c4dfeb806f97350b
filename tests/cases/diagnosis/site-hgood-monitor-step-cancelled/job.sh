#!/bin/bash
#SBATCH -N1 --gpus=4
srun torchrun --standalone --nproc_per_node=4 train.py &
T=$!
srun --overlap -n1 dcgmi dmon -e 1002 > gpu.txt &
wait $T
scancel $SLURM_JOB_ID.1
wait
exit 0
