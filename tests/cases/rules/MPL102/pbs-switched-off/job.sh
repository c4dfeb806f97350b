#!/bin/bash
##PBS -l select=2
  #PBS -l walltime=1:00
#PBS-N train
