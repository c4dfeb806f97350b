#!/bin/bash
#SBATCH --job-name=vit
#SBATCH --output=vit.out
#SBATCH -C v100-32g
#SBATCH --nodes=1
#SBATCH --ntasks=4
#SBATCH --gres=gpu:4
#SBATCH --cpus-per-task=10
#SBATCH --hint=nomultithread
#SBATCH --time=10:00:00
module load pytorch-gpu/py3/2.5.0
cd $WORK/vit-large
srun python train_vit.py --epochs 90
