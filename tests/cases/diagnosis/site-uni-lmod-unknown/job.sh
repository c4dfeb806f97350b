#!/bin/bash
#SBATCH --job-name=train
#SBATCH --output=%x.%j.log
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=1
#SBATCH --time=12:00:00
module load CUDA/12.4.1
source venv/bin/activate
python --version
srun python train.py
