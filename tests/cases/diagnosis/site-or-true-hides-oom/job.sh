#!/bin/bash
#SBATCH -p gpu --gres=gpu:1 -t 2:00:00 -o job.%j.out
echo seed 1
srun python sample.py -n 64 || true
cp out/samples.npz /project/tz/ || true
echo "job finished at $(date)"
