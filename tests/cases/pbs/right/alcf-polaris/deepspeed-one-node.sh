#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1:system=polaris
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
#PBS -N zero2

cd $PBS_O_WORKDIR
module use /soft/modulefiles; module load conda; conda activate
deepspeed --num_gpus=4 --master_port 29600 train_ds.py --deepspeed --deepspeed_config ds_config.json
