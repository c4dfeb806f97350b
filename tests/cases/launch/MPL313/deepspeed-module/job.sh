#!/bin/bash
#SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=4
deepspeed --num_gpus 4 python -m pkg.train
