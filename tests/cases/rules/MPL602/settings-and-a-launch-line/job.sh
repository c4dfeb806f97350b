#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=4,place=scatter
source ./settings.inc
mpiexec -n $RANKS python train.py
