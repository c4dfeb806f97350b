#!/bin/bash
# Tricky: the launch line stands in a sourced file; it is unknown, not absent.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
source ./launch.inc
run_training train.py
