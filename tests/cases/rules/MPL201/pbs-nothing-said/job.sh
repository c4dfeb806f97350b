#!/bin/bash
mpiexec -n 12 python train.py
