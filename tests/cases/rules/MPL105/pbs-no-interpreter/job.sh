#PBS -N train#1
#PBS -l select=1
python train.py
