#!/bin/bash
#PBS -t 1-4
#PBS -l select=1
python train.py
