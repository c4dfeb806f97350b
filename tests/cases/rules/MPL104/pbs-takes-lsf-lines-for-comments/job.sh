#!/bin/bash
#BSUB -n 4
#BSUB -W 1:00
python train.py
