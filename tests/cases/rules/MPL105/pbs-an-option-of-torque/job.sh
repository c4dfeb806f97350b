#!/bin/bash
#PBS -t 1-4
#PBS -l nodes=1:ppn=4
python train.py
