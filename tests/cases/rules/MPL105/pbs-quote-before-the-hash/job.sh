#!/bin/bash
#PBS -N "train # 1
python train.py
