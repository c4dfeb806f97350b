#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
torchrun --nproc_per_node=1 train.py train --job.config_file run.yaml
