#!/bin/sh
#SBATCH -J test

ml load python/3.8.2
python -V
python train.py
