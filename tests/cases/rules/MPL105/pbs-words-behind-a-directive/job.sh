#!/bin/bash
#PBS -N train run
#PBS -l select=1
python train.py
