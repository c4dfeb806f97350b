#!/bin/bash
# Tricky: eight tasks are asked for as a way to get eight cores; one process runs.
#SBATCH --nodes=1 --ntasks=8
make -j 8 all 2>/dev/null || true
python preprocess.py --workers $SLURM_NTASKS
