#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
deepspeed train.py --deepspeed_config ds.json
