#!/bin/bash
#PBS -N train run
python train.py
