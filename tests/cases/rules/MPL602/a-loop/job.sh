#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=4,place=scatter
for seed in 1 2; do
  mpiexec -n 8 -ppn 4 python train.py --seed $seed
done
