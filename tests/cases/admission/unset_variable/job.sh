#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
RUN=first
python train.py --data_dir ${LOCAL_SCRATCH}/images --output_dir $HOME/$RUN --seed=${SEED:-3}
