#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=1
python $APP_HOME/train.py --total-timesteps 5000 --max-steps 100 --accum-iter 4
