#!/bin/bash
#SBATCH --nodes=1
cat > next.sh <<'END'
#!/bin/bash
#SBATCH --nodes=4
END
