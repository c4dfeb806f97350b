#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-task=16
srun --nodes=1 --ntasks=1 python server.py &
srun --nodes=1 --ntasks=1 python client.py
