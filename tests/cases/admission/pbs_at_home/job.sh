#!/bin/bash
#PBS -l select=1:ngpus=4
python train.py
