#!/bin/bash
#SBATCH --gpus-per-node=4
# usage: sbatch job.sh --nodes=N: how many parts the data has
case "$1" in --nodes=*) PARTS=${1#*=} ;; esac
python split.py "$PARTS"
