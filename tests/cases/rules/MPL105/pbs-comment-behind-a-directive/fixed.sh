#!/bin/bash
#PBS -N train
#PBS -l select=1
python train.py
