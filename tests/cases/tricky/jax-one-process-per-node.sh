#!/bin/bash
# Tricky: JAX runs one process per node and drives all local GPUs; jax.distributed reads SLURM_* by itself.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
srun python train_jax.py
