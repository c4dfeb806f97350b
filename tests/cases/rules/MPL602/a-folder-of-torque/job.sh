#!/bin/bash
#PBS -d /work
mpiexec -n 8 -ppn 4 python train.py
