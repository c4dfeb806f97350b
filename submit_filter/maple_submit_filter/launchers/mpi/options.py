"""Options of the programs called mpiexec and mpirun, one table for each maker.

Open MPI: compared with 4.1.4; rows of 5 (PRRTE) are marked. 4 refuses `--np=4`, 5 takes it.
Hydra: compared with MPICH 4.0.2, where any option takes one dash or two, and `=`. Intel MPI is a Hydra with more.
PALS: from its public manual and site guides; it was not run.
"""

from __future__ import annotations

from typing import Dict, Mapping, Sequence, Tuple

from ...types.text import Text
from ..grammar import DASHES, Reading, Table, extended, read, table

OPENMPI: Table = table(
    "openmpi",
    DASHES,
    """
    --n --np --c 1:int
    --N 1:int
    --host --H 1
    --hostfile --machinefile 1
    --default-hostfile 1
    --rankfile --rf 1
    --x 1
    --mca 2
    --gmca 2
    --map-by 1
    --rank-by 1
    --bind-to 1
    --ppr 1
    --npernode 1:int
    --npersocket 1:int
    --pernode 0
    --bynode 0
    --byslot 0
    --bycore 0
    --bind-to-core 0
    --bind-to-socket 0
    --cpu-set 1
    --cpu-list 1
    --cpus-per-proc 1
    --cpus-per-rank 1
    --cartofile --cf 1
    --use-hwthread-cpus 0
    --oversubscribe 0
    --nooversubscribe 0
    --nolocal 0
    --report-bindings 0
    --display-map 0
    --display-allocation 0
    --display-devel-map 0
    --display-devel-allocation 0
    --display-diffable-map 0
    --display-topo 0
    --do-not-launch 0
    --do-not-resolve 0
    --tag-output 0
    --timestamp-output 0
    --merge-stderr-to-stdout 0
    --output-filename 1
    --output-proctable 0
    --stdin 1
    --xml 0
    --xml-file 1
    --xterm 1
    --wdir --wd 1
    --path 1
    --prefix 1
    --noprefix 0
    --preload-binary --s 0
    --preload-files 1
    --set-cwd-to-session-dir 0
    --index-argv-by-rank 0
    --launch-agent 1
    --leave-session-attached 0
    --allow-run-as-root 0
    --am 1
    --tune 1
    --app 1
    --continuous 0
    --debug 0
    --debug-devel --d 0
    --debug-daemons 0
    --debug-daemons-file 0
    --debugger 1
    --tv 0
    --get-stack-traces 0
    --disable-recovery 0
    --enable-recovery 0
    --max-restarts 1
    --max-vm-size 1
    --novm 0
    --dvm 0
    --hnp 1
    --ompi-server 1
    --personality 1
    --enable-instant-on-support 0
    --fwd-mpirun-port 0
    --use-regexp 0
    --show-progress 0
    --report-child-jobs-separately 0
    --report-events 1
    --report-pid 1
    --report-uri 1
    --report-state-on-timeout 0
    --timeout 1:int
    --quiet --q 0
    --verbose --v 0
    --version --V 0
    --help --h 0
    --display 1 only openmpi>=5
    --output 1 only openmpi>=5
    --runtime-options --rtos 1 only openmpi>=5
    --pmixmca 2 only openmpi>=5
    --gpmixmca 2 only openmpi>=5
    --prtemca 2 only openmpi>=5
    --omca 2 only openmpi>=5
    --gomca 2 only openmpi>=5
    --add-host 1 only openmpi>=5
    --add-hostfile 1 only openmpi>=5
    --pset 1 only openmpi>=5
    --exec-agent 1 only openmpi>=5
    --forward-signals 1 only openmpi>=5
    --stop-in-init 0 only openmpi>=5
    --stop-on-exec 0 only openmpi>=5
    --spawn-timeout 1 only openmpi>=5
    --with-ft 1 only openmpi>=5
    --tmpdir 1 only other releases
    --num-debug-daemons 1 only other releases
    """,
)

_HYDRA_ROWS = """
    --n --np 1:int
    --ppn 1:int
    --hostfile --f --machinefile --machine --machines --machinelist 1
    --hosts --host --hostlist 1
    --env 2=
    --genv 2=
    --envlist 1
    --genvlist 1
    --envnone 0
    --envall 0
    --genvnone 0
    --genvall 0
    --wdir 1
    --configfile 1
    --launcher --bootstrap 1
    --launcher-exec --bootstrap-exec 1
    --enable-x 0
    --disable-x 0
    --rmk 1
    --topolib 1
    --bind-to --binding 1
    --map-by 1
    --membind 1
    --demux 1
    --iface 1
    --profile 0
    --prepend-rank --l 0
    --prepend-pattern 1
    --outfile-pattern --outfile 1
    --errfile-pattern --errfile 1
    --output-from 1
    --nameserver 1
    --disable-auto-cleanup --dac 0
    --enable-hostname-propagation 0
    --disable-hostname-propagation 0
    --order-nodes 1
    --localhost 1
    --usize 1
    --pmi-port 0
    --skip-launch-node 0
    --gpus-per-proc 1
    --print-all-exitcodes 0
    --verbose --v 0
    --info --version 0
    --help --h 0
    """

HYDRA: Table = table("hydra", DASHES, _HYDRA_ROWS, ends=False)

INTEL: Table = extended(
    HYDRA,
    "intelmpi",
    """
    --ppn --perhost --grr 1:int
    --rr 0
    --wdir --wd 1
    --path 1
    --tmpdir 1
    --tune 1
    --s 1
    --genvexcl 1
    --hosts-group 1
    --nolocal 0
    --silent-abort 0
    --nodelist 1
    --print-rank-map 0
    --gdb 0
    --gdba 1
    --gtool 1
    --gtoolfile 1
    --gpath 1
    --gwdir 1
    --gumask 1
    --umask 1
    --ordered-output 0
    --order-output 0
    --cleanup 0
    --noconf 0
    --trace --t 0
    --check-mpi 0
    --trace-pt2pt 0
    --trace-collectives 0
    --aps 0
    --mps 0
    --bootstrap-exec-args 1
    --branch-count 1
    --pmi-aggregate 0
    --pmi-noaggregate 0
    --pmi-connect 1
    --rmk 1
    --verbose --v 0
    --version --V 0
    --info 0
    --use-app-topology 1
    --device --rdma 0 only intelmpi<2019
    --RDMA --dapl --DAPL --ib --IB --tmi --TMI --mx --MX --psm --PSM --psm2 --PSM2 --mxm --MXM 0 only intelmpi<2019
    """,
)

PALS: Table = table(
    "pals",
    DASHES,
    """
    --n --np 1:int
    --ppn 1:int
    --depth --d 1:int
    --hostfile --f 1
    --hosts --host --hostlist 1
    --cpu-bind 1
    --mem-bind 1
    --gpu-bind 1
    --env 2=
    --genv 2=
    --envlist 1
    --genvlist 1
    --envall 0
    --envnone 0
    --genvall 0
    --genvnone 0
    --wdir --wd 1
    --soft 1
    --path 1
    --arch 1
    --configfile 1
    --line-buffer 0
    --label --l 0
    --rlimits 1
    --pmi 1
    --no-transfer 0
    --no-vni 0
    --vnis 1
    --network 1
    --exclusive 0
    --shared 0
    --abort-on-failure 0
    --no-abort-on-failure 0
    --procinfo 0
    --procinfo-file 1
    --stdin --s 1
    --stdout 1
    --stderr 1
    --umask 1
    --timeout 1
    --fanout 1
    --debug 0
    --verbose --v 0
    --version --V 0
    --help --h 0
    """,
)

TABLES: Mapping[str, Table] = {table.launcher: table for table in (OPENMPI, HYDRA, INTEL, PALS)}


_BY_NAME = {
    b"mpiexec.hydra": ("hydra", "intelmpi"),
    b"mpirun.mpich": ("hydra",),
    b"mpiexec.mpich": ("hydra",),
    b"mpirun.openmpi": ("openmpi",),
    b"mpiexec.openmpi": ("openmpi",),
    b"orterun": ("openmpi",),
    b"prterun": ("openmpi",),
    b"mpirun": ("openmpi", "hydra", "intelmpi"),
    b"mpiexec": ("openmpi", "hydra", "intelmpi", "pals"),
}


def makers(name: bytes) -> Tuple[str, ...]:
    """Return whose program a command of this name may be, () when it is none of them."""
    return _BY_NAME.get(name.rsplit(b"/", 1)[-1], ())


def readings(argv: Sequence[Text], start: int, among: Sequence[str]) -> Dict[str, Reading]:
    """Return what each maker's program would read, those left out that would refuse the words.

    Empty means that none of them takes these options.
    """
    all_of_them = {maker: read(TABLES[maker], argv, start) for maker in among}
    taken = {maker: reading for maker, reading in all_of_them.items() if not reading.problem}
    if taken or len(among) < 2 or "pals" in among or argv[0].raw.rsplit(b"/", 1)[-1] != b"mpirun":
        return taken
    return readings(argv, start, ("pals",))  # its client is installed by the name mpirun as well
