#!/bin/bash
#SBATCH -N1 -n1 --gres=gpu:1 -t 24:00:00
source ~/env/bin/activate
for i in 1 2 3; do
  echo "[attempt $i] $(date)"
  srun python /home/p1/llm/train.py --auto-resume && exit 0
  rc=$?
  if [ $i -lt 3 ]; then echo "[attempt $i] failed with $rc, trying again in 60 s"; sleep 60; else echo "[attempt $i] failed with $rc, giving up"; fi
done
exit 1
