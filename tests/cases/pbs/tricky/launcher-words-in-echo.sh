#!/bin/bash
# Tricky: srun and torchrun are only spoken of.
#PBS -l select=1:ncpus=4:ngpus=1
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
echo "on the other cluster: srun --ntasks-per-node=8 torchrun --nproc_per_node=8 train.py"
cat <<'EOF' > README.run
mpiexec -n 99 --ppn 33 torchrun --nnodes=7 train.py
EOF
python train_single.py
