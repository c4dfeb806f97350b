#!/bin/bash
# PBS -l filesystems=home:eagle
mpiexec -n 4 python train.py
