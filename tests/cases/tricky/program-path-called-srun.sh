#!/bin/bash
# Tricky: directories and files with launcher names.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=1
mkdir -p srun/torchrun
echo "mpirun -np 64" > srun/torchrun/accelerate
python train_single.py --out srun/torchrun --log mpirun
