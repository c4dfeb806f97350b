#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --gpus-per-node=2
#SBATCH --time=10:00
srun --gpus-per-node=2 python serve.py &
sleep 2
srun --gpus-per-node=2 python toy.py
kill %1
wait
