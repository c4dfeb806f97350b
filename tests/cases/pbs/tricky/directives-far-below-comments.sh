#!/bin/bash
# Tricky: comments, blanks and shebang-like lines between the directives: all of them count.

#############################################################
#                                                           #
#   group launcher, version 3                               #
#                                                           #
#############################################################
#! keep the next lines together

	#PBS -l select=1:ncpus=4:ngpus=2
   #PBS -l walltime=00:30:00

#PBS-N folded
#PBS

cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=2 train.py
