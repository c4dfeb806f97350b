#!/bin/bash
set -e
#PBS -l select=2,walltime=01:00:00
