#!/bin/bash
#SBATCH --time=72:00:00
#SBATCH --mem=64g
#SBATCH --job-name="ifseg"
#SBATCH --partition=gpu
#SBATCH --gres=gpu:a100:4
#SBATCH --cpus-per-task=4
sh run_scripts/IFSeg/coco_unseen.sh
