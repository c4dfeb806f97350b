#!/bin/bash
# Tricky: dots, commas and plus signs of a configuration framework, one process.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=1
python train_single.py -m +experiment=a,b trainer.devices=8 trainer.num_nodes=4 'hydra.run.dir=out/${now:%Y}'
