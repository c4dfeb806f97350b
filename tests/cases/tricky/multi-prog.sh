#!/bin/bash
# Tricky: srun --multi-prog takes the programs from a file.
#SBATCH --nodes=1 --ntasks=3
cat > prog.conf <<'CONF'
0 python server.py --device cpu
1-2 python worker.py --device cpu --index %t
CONF
srun --multi-prog prog.conf
