#!/bin/bash
# wrong: gpus= inside nodes= is Torque's; this PBS refuses it.
#PBS -l nodes=1:ppn=8:gpus=2
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=2 train.py
