# training of the small model
# Tricky: no first line with an interpreter: -S says which shell runs this, and bash knows arrays.
#PBS -S /bin/bash
#PBS -l select=1:ncpus=8:ngpus=2
#PBS -l walltime=00:30:00
cd "$PBS_O_WORKDIR" || exit 1
words=(--standalone --nproc_per_node=2)
torchrun "${words[@]}" train.py
