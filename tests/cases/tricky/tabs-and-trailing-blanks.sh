#!/bin/bash
# Tricky: tabs, trailing blanks and a backslash at the end of the file's last words.
#SBATCH	--nodes=1	--ntasks=1 --gpus-per-node=2   
torchrun   --standalone	--nproc_per_node=2 	\
	train.py	--a   1   \
