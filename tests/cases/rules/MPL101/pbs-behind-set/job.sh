#!/bin/bash
set -e
#PBS -l walltime=02:00:00
#PBS -l select=2
