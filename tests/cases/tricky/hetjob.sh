#!/bin/bash
# Tricky: a heterogeneous job: two components of different shape.
#SBATCH --nodes=1 --ntasks-per-node=4 --gpus-per-node=4
#SBATCH hetjob
#SBATCH --nodes=1 --ntasks-per-node=2
srun --het-group=0 python learner.py : --het-group=1 python actor.py
