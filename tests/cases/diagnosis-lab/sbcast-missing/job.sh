#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --time=10:00
set -e
sbcast --force data1.tar /tmp/maple-$SLURM_JOB_ID.tar
srun sh -c 'test -s /tmp/maple-$SLURM_JOB_ID.tar && python toy.py; rm -f /tmp/maple-$SLURM_JOB_ID.tar'
