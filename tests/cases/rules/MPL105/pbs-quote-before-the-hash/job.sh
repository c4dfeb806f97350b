#!/bin/bash
#PBS -l select=1
#PBS -N "train # 1
python train.py
