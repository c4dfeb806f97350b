#!/bin/bash
# PBS -l filesystems=
#PBS -A proj -q debug
mpiexec -n 4 python train.py
