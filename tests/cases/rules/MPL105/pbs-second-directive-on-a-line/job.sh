#!/bin/bash
#PBS -N train #PBS -l select=2
python train.py
