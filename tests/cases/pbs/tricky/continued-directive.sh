#!/bin/bash
# Tricky: a directive over two lines; the second one has no #PBS and still belongs to it.
#PBS -l select=1:ncpus=8:ngpus=2,\
walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=2 train.py
