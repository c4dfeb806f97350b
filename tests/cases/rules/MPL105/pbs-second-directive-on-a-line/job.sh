#!/bin/bash
#PBS -N train #PBS -l ncpus=2
python train.py
