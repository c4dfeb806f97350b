#!/bin/bash
#SBATCH --job-name=bert
#SBATCH --error=bert.err
#SBATCH --gres=gpu:2
#SBATCH --time=02:00:00

module load python/3.11.5
export OMP_NUM_THREADS=8
./launch.sh
