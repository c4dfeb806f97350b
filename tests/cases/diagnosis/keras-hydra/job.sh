#!/bin/bash
#SBATCH -N 1
#SBATCH -n 2
mpirun -np 2 -H localhost:1 python3 keras_imagenet_resnet50.py
