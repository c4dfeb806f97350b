#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=4,place=scatter
cat > train.py <<'EOT'
print(1)
EOT
mpiexec -n 8 -ppn 4 python train.py
