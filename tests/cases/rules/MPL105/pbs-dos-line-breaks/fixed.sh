#!/bin/bash
#PBS -l select=1
python train.py
