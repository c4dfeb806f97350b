#!/bin/bash
#SBATCH -N1 --ntasks-per-node=8 --gpus-per-node=8 --cpus-per-task=8 -t 2-0
echo launching 8 workers
srun --cpu-bind=map_cpu:0,8,16,24,32,40,48,56 python -m fairseq_cli.hydra_train task.data=/datasets/wiki
