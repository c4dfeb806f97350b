#!/bin/bash
#PBS -N train   # the name
#PBS -l select=1
python train.py
