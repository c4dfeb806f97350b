#!/bin/bash
# Tricky: four devices and one process: Lightning starts the other three itself.
#PBS -l select=1:ncpus=8:ngpus=4
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
python train_lightning.py fit --trainer.devices 4 --trainer.strategy ddp
