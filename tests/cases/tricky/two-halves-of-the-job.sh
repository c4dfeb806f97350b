#!/bin/bash
# Tricky: two trainings at once, each on a node of its own with -w.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
srun -N1 -n1 -w ${nodes[0]} torchrun --standalone --nproc_per_node=2 train.py --arm a &
srun -N1 -n1 -w ${nodes[1]} torchrun --standalone --nproc_per_node=2 train.py --arm b &
wait
