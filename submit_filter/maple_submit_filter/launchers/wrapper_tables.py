"""The programs that only start another one, as data: their options, and what each does to the environment.

From each tool's manual; the common ones were compared with coreutils 9.1 and util-linux 2.38.
"""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, Tuple

from .grammar import ARGPARSE, GETOPT, GO, Table, table

SET = "set"  # NAME=VALUE
SET_LIST = "set list"  # NAME=VALUE,NAME=VALUE
UNSET = "unset"
CLEAR = "clear"
KEEP_RANKS = "keep ranks"  # what tells a task its rank is handed into a cleared environment
UNREAD = "unread"  # what happens then cannot be read from the line
NOTHING = "nothing"  # with it the tool starts no program


class Wrapper(NamedTuple):
    """One wrapper. *effects*: what an option, by name, does to the environment of the program.

    *clears*: the program does not inherit the environment. *unread*: why the program is not simply what follows.
    *runs_scripts*: a `.py` file is run by python. *dashes*: the program stands behind `--`, whatever comes before.
    *assigns*: NAME=VALUE words stand before the program. *container*: the program comes from an image.
    """

    table: Table
    effects: Mapping[str, str] = {}
    clears: bool = False
    unread: str = ""
    runs_scripts: bool = False
    dashes: bool = False
    assigns: bool = False
    container: bool = False


def _wrapper(name: str, lines: str = "", style: str = GETOPT, operands: int = 0) -> Table:
    return table(name, style, lines, operands=operands)


_APPTAINER = """
    --add-caps, --drop-caps 1
    --allow-setuid, --keep-privs, --no-privs, --security-none 0
    --app, --apply-cgroups, --authfile 1
    -B --bind 1
    --mount 1
    -e --cleanenv 0
    --compat 0
    -c --contain 0
    -C --containall 0
    --cpu-shares, --cpus, --cpuset-cpus, --cpuset-mems 1
    --blkio-weight, --blkio-weight-device 1
    --memory, --memory-reservation, --memory-swap, --pids-limit 1
    --oom-kill-disable 0
    --disable-cache 0
    --dns 1
    --docker-login 0
    --docker-username, --docker-password, --docker-host 1
    --env 1
    --env-file 1
    -f --fakeroot 0
    --fusemount 1
    -H --home 1
    --hostname 1
    -i --ipc 0
    --ignore-fakeroot-command, --ignore-subuid, --ignore-userns 0
    --keep-layers 0
    -n --net 0
    --network, --network-args, --netns-path 1
    --no-eval, --no-home, --no-https, --nohttps, --no-init 0
    --no-umask, --no-pid, --no-tmp-sandbox, --no-oci, --oci 0
    --no-mount 1
    --nv, --nvccli, --rocm 0
    --intel-hpu 0
    -o --overlay 1
    --underlay 0
    --passphrase, --unsquash 0
    --pem-path 1
    -p --pid 0
    --pwd, --cwd 1
    --runscript-timeout 1
    -S --scratch 1
    --security 1
    --sharens 0
    -u --userns 0
    --uts 0
    --vm, --no-vm, --vm-err, --no-nv, --no-rocm 0
    --vm-ram, --vm-cpu, --vm-ip, --containlibs, --tmpdir, --dmtcp-launch, --dmtcp-restart 1
    -W --workdir 1
    -w --writable 0
    --writable-tmpfs 0
    --no-https 0
    --device, --cdi-dirs 1
    --platform, --arch 1
    -h --help 0
    """


def _apptainer(unread: str = "") -> Wrapper:
    effects = {"env": SET_LIST, "cleanenv": CLEAR, "containall": CLEAR, "compat": CLEAR, "env-file": UNREAD}
    return Wrapper(_wrapper("apptainer", _APPTAINER, GO, 1), effects, unread=unread, container=True)


_STRACE = """
    -a --columns 1
    -A --output-append-mode 0
    -b --detach-on 1
    -c --summary-only 0
    -C --summary 0
    -d --debug 0
    -D 0
    --daemonize ?
    -e 1
    -E --env 1
    -f --follow-forks 0
    -F 0
    --output-separately, --seccomp-bpf, --kill-on-exit 0
    -h --help 0
    -i --instruction-pointer 0
    -I --interruptible 1
    -k --stack-traces 0
    -n --syscall-number 0
    -o --output 1
    -O --summary-syscall-overhead 1
    -p --attach 1
    -P --trace-path 1
    -q 0
    --quiet, --silent, --silence ?
    -r 0
    --relative-timestamps, --absolute-timestamps, --syscall-times ?
    --decode-fds, --decode-pids, --strings-in-hex, --tips ?
    -s --string-limit 1
    -S --summary-sort-by 1
    -t 0
    -T 0
    -u --user 1
    -U --summary-columns 1
    -v --no-abbrev 0
    -V --version 0
    -w --summary-wall-clock 0
    -x 0
    -X --const-print-style 1
    -y 0
    -Y 0
    -z --successful-only 0
    -Z --failed-only 0
    --trace, --signal, --status, --abbrev, --verbose, --raw, --read, --write, --kvm, --inject, --fault 1
    """

_LTRACE = """
    -a --align 1
    -A 1
    -b --no-signals 0
    -c 0
    -C --demangle 0
    -D --debug 1
    -e 1
    -f 0
    -F --config 1
    -h --help 0
    -i 0
    -l --library 1
    -L 0
    -n --indent 1
    -o --output 1
    -p 1
    -r 0
    -s 1
    -S 0
    -t 0
    -T 0
    -u 1
    -V --version 0
    -w --where 1
    -x 1
    """

_NSYS = """
    -b --backtrace 1
    -c --capture-range 1
    --capture-range-end, --clock-frequency-changes, --command-file, --cpu-cluster-events, --cpu-core-events 1
    --cpu-core-metrics, --cpu-socket-events, --cpu-socket-metrics 1
    --cpuctxsw, --cuda-event-trace, --cuda-flush-interval 1
    --cuda-graph-trace, --cuda-memory-usage, --cuda-trace-all-apis, --cuda-trace-scope, --cuda-um-cpu-page-faults 1
    --cuda-um-gpu-page-faults, --cudabacktrace 1
    --dask, --debug-symbols, --dx-force-declare-adapter-removal-support 1
    -d --duration 1
    --duration-frames, --el1-sampling, --enable 1
    --etw-provider, --event-sample, --event-sampling-interval, --export 1
    --event-sampling-frequency, --flush-on-cudaprofilerstop, --ftrace, --ftrace-keep-user-config 1
    -e --env-var 1
    -f --force-overwrite 1
    -g --gpu-metrics-device --gpu-metrics-devices 1
    --gpu-metrics-frequency, --gpu-metrics-set, --gpu-video-device 1
    --gpuctxsw, --hotkey-capture, --ib-net-info-devices 1
    --ib-net-info-files, --ib-net-info-output, --ib-switch-metrics-device, --ib-switch-congestion-device 1
    -n --inherit-environment 1
    --injection-use-detours, --isr, --kill, --mpi-impl, --nic-metrics 1
    -p --nvtx-capture 1
    --nvtx-domain-include, --nvtx-domain-exclude, --nvtx-capture-range, --opengl-gpu-workload, --os-events 1
    --osrt-backtrace-depth, --osrt-backtrace-stack-size, --osrt-backtrace-threshold, --osrt-threshold 1
    --osrt-file-access, --start-agent, --process-scope, --python-backtrace, --python-functions-trace 1
    -o --output 1
    --python-sampling, --python-sampling-frequency, --pytorch, --python-nvtx-annotations, --resolve-symbols 1
    --retain-etw-files, --run-as, --sampling-frequency 1
    --sampling-period, --sampling-trigger, --samples-per-backtrace 1
    -s --sample 1
    --session, --session-new, --soc-metrics, --soc-metrics-frequency, --soc-metrics-set, --start-frame-index 1
    -w --show-output 1
    -Y --start-later 1
    -y --delay 1
    --stats, --stop-on-range-end, --storage-metrics, --syscall 1
    --wait, --vsync, --vulkan-gpu-workload, --xhv-trace 1
    -x --stop-on-exit 1
    -t --trace 1
    --trace-fork-before-exec, --wddm-additional-events, --wddm-backtraces, --xhv-trace-events 1
    -h --help ?
    """

_NCU = """
    -o --export 1
    -f --force-overwrite 0
    -i --import 1
    -k --kernel-name 1
    -c --launch-count 1
    -s --launch-skip 1
    -h --help 0
    -v --version 0
    --mode, --target-processes, --target-processes-filter, --replay-mode, --app-replay-buffer, --app-replay-match 1
    --app-replay-mode, --graph-profiling, --range-replay-options, --range-filter, --devices, --filter-mode 1
    --kernel-id, --kernel-name-base, --launch-skip-before-match 1
    --profile-from-start, --clock-control, --cache-control 1
    --set, --section, --section-folder, --section-folder-recursive 1
    --rule, --apply-rules, --metrics, --nvtx-include 1
    --nvtx-exclude, --page, --print-details, --print-units 1
    --print-fp, --print-kernel-base, --print-summary, --log-file 1
    --sampling-interval, --sampling-max-passes 1
    --sampling-buffer-size, --warp-sampling-interval, --check-exit-code 1
    --warp-sampling-max-passes, --warp-sampling-buffer-size, --pm-sampling-interval, --pm-sampling-buffer-size 1
    --pm-sampling-max-passes, --import-source, --source-folders, --resolve-source-file, --port, --max-connections 1
    --hostname, --config-file, --config-file-path 1
    --call-stack-type, --kill, --communicator, --lockstep-kernel-launch 1
    --nvtx, --nvtx-push-pop-scope, --csv, --quiet 0
    --verbose, --details-all, --call-stack, --disable-extra-suffixes 0
    --list-sets, --list-sections, --list-rules, --list-metrics, --query-metrics, --support-32bit, --null-stdin 0
    """

_ROCPROF = """
    --stats, --hip-trace, --hsa-trace, --sys-trace, --roctx-trace, --kfd-trace, --parallel-kernels, --list-basic 0
    --list-derived, --verbose, --hip-api, --hsa-api 0
    --hip-activity, --hsa-activity, --kernel-trace, --tool-version 0
    -i --input 1
    -o --output-file 1
    -d --output-directory 1
    -t 1
    -m 1
    --basenames, --timestamp, --ctx-wait, --ctx-limit, --heartbeat, --obj-tracking, --trace-start, --trace-period 1
    --flush-rate, --flush-interval, --plugin, --merge-traces, --trace 1
    -h --help 0
    """

_SHIFTER = """
    -i --image 1
    -m --module 1
    -V --volume 1
    -e --env 1
    --env-file, --workdir, --entrypoint 1
    -w 1
    --clearenv 0
    -v --verbose 0
    -h --help 0
    """

_SARUS = """
    --centralized-repository, --ssh, --glibc, --init, --mpi, --tty 0
    -m 0
    -t 0
    --mount, --device, --annotation, --entrypoint, --mpi-type, --pid 1
    -e --env 1
    -n --name 1
    -w --workdir 1
    """

_ENROOT = """
    -c --conf 1
    -e --env 1
    -m --mount 1
    -r --root 0
    -w --rw 0
    --rc 1
    """

_PODMAN_KEEPS = {"env": SET, "env-file": UNREAD, "env-host": UNREAD, "gpu": UNREAD, "mpi": KEEP_RANKS, "nccl": UNREAD}

_PODMAN = """
    --rm, --init, --privileged, --read-only, --replace, --rmi 0
    --tty, --no-hosts, --gpu, --mpi, --cuda-mpi, --nccl, --cvmfs 0
    --openmpi-pmi2, --openmpi-pmix, --openmpi5, --mpich, --squash 0
    -i --interactive 0
    -t 0
    -d --detach 0
    -e --env 1
    -v --volume 1
    -w --workdir 1
    -u --user 1
    -p --publish 1
    -m --memory 1
    -h --hostname 1
    -l --label 1
    --env-file, --entrypoint, --name, --net, --network, --ipc 1
    --pid, --userns, --uts, --shm-size, --group-add, --device 1
    --security-opt, --mount, --ulimit, --cap-add, --cap-drop 1
    --cgroupns, --cpus, --cpuset-cpus, --annotation, --hooks-dir 1
    --pull, --platform, --tmpfs, --ip, --dns, --add-host, --log-driver, --log-opt, --runtime, --stop-signal 1
    --env-host 0
    --cidfile, --restart, --env-merge, --unsetenv, --systemd 1
    --cgroup-parent, --memory-swap, --memory-reservation, --cpu-shares, --device-cgroup-rule, --link, --volumes-from 1
    --sig-proxy, --no-healthcheck, --oom-kill-disable, --tls-verify ?
    --gpus 1
    """


def _podman(always: str = "") -> Wrapper:
    effects = {**_PODMAN_KEEPS, "": always}
    return Wrapper(_wrapper("podman-hpc run", _PODMAN, GO, 1), effects, clears=True, container=True)


_UV = """
    -m --module 0
    -s --script 0
    -q --quiet 0
    -v --verbose 0
    -n --no-cache 0
    -U --upgrade 0
    -h --help 0
    --active, --all-extras, --all-groups, --all-packages, --compile-bytecode, --exact, --frozen, --gui-script 0
    --isolated, --locked, --managed-python, --no-binary, --no-build, --no-build-isolation, --no-config 0
    --no-default-groups, --no-dev, --no-editable, --no-env-file, --no-index, --no-managed-python, --no-progress 0
    --no-project, --no-python-downloads, --no-require-build-hashes, --no-sources, --no-sync, --offline, --only-dev 0
    --refresh, --reinstall, --require-build-hashes, --system-certs 0
    --dev, --native-tls, --show-settings, --no-active 0 only other releases
    -w --with 1
    -i --index-url 1
    -f --find-links 1
    -p --python 1
    -P --upgrade-package 1
    -C --config-setting 1
    --allow-insecure-host, --cache-dir, --color, --config-file, --config-settings-package, --default-index 1
    --directory, --env-file, --exclude-newer, --exclude-newer-package, --extra, --extra-index-url, --fork-strategy 1
    --group, --index, --index-strategy, --keyring-provider, --link-mode, --no-binary-package 1
    --no-build-isolation-package, --no-build-package, --no-editable-package, --no-extra, --no-group 1
    --no-sources-package, --only-group, --package, --prerelease, --prerelease-package, --project 1
    --python-platform, --refresh-package, --reinstall-package, --resolution, --upgrade-group 1
    --with-editable, --with-requirements 1
    """

_CONDA = """
    -n --name 1
    -p --prefix 1
    -v --verbose 0
    --dev 0
    --debug-wrapper-scripts 0
    --cwd 1
    --no-capture-output, --live-stream 0
    -h --help 0
    """

_MAMBA = """
    -n --name 1
    -p --prefix 1
    -r --root-prefix 1
    -a --attach 1
    --cwd 1
    -e --env 1
    -d --detach 0
    --clean-env 0
    --label 1
    -v --verbose 0
    -q --quiet 0
    --rc-file 1
    --no-capture-output, --live-stream 0
    """

_PIXI = """
    -e --environment 1
    --manifest-path 1
    --frozen 0
    --locked 0
    --no-lockfile-update 0
    --as-is 0
    --no-install 0
    -x --executable 0
    --clean-env 0
    --skip-deps 0
    --force-activate 0
    -v --verbose 0
    -q --quiet 0
    """

_DOCKER = Wrapper(_wrapper("docker run", _PODMAN, GO, 1), {"env": SET, "env-file": UNREAD}, clears=True, container=True)
_DOCKERS = "--config, --context, --host, --log-level 1\n-H 1\n-c 1\n-D 0\n--debug, --tls 0"
_PRLIMIT = ("as", "core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile", "nproc", "rss",
            "rtprio", "rttime", "sigpending", "stack")  # fmt: skip
_STARTS = "pixi may know a task of that name"

BY_NAME: Dict[bytes, Wrapper] = {
    b"env": Wrapper(
        _wrapper(
            "env",
            """
            -i --ignore-environment 0
            -0 --null 0
            -u --unset 1
            -C --chdir 1
            -S --split-string 1
            -v --debug 0
            --block-signal ?
            --default-signal ?
            --ignore-signal ?
            --list-signal-handling 0
            --help 0
            --version 0
            """,
        ),
        {"ignore-environment": CLEAR, "unset": UNSET, "split-string": UNREAD, "help": NOTHING, "version": NOTHING},
        assigns=True,
    ),
    b"time": Wrapper(
        _wrapper(
            "time", "-f --format 1\n-o --output 1\n-a --append 0\n-v --verbose 0\n-p --portability 0\n-q --quiet 0"
        )
    ),
    b"nice": Wrapper(_wrapper("nice", "-n --adjustment 1\n" + "\n".join("-%d 0" % digit for digit in range(10)))),
    b"ionice": Wrapper(
        _wrapper("ionice", "-c --class 1\n-n --classdata 1\n-p --pid 1\n-P --pgid 1\n-u --uid 1\n-t --ignore 0"),
        {"pid": NOTHING, "pgid": NOTHING, "uid": NOTHING},
    ),
    b"numactl": Wrapper(
        _wrapper(
            "numactl",
            """
            -i --interleave 1
            -w --weighted-interleave 1
            -p --preferred 1
            -P --preferred-many 1
            -N --cpunodebind 1
            --cpubind 1
            -C --physcpubind 1
            -m --membind 1
            -l --localalloc 0
            -b --balancing 0
            -a --all 0
            -s --show 0
            -H --hardware 0
            -h --help 0
            -V --verbose 0
            -u --huge 0
            -T --touch 0
            -t --strict 0
            -L --length 1
            -o --offset 1
            -M --shmmode 1
            -I --shmid 1
            -S --shm 1
            -f --file 1
            -d --dump 0
            -D --dump-nodes 0
            """,
        ),
        {"show": NOTHING, "hardware": NOTHING},
    ),
    b"taskset": Wrapper(
        _wrapper("taskset", "-a --all-tasks 0\n-p --pid 0\n-c --cpu-list 0\n-h --help 0\n-V --version 0", operands=1),
        {"pid": NOTHING},
    ),
    b"stdbuf": Wrapper(_wrapper("stdbuf", "-i --input 1\n-o --output 1\n-e --error 1")),
    b"nohup": Wrapper(_wrapper("nohup")),
    b"catchsegv": Wrapper(_wrapper("catchsegv")),
    b"exec": Wrapper(_wrapper("exec", "-c 0\n-l 0\n-a 1"), {"c": CLEAR}),
    b"command": Wrapper(_wrapper("command", "-p 0\n-v 0\n-V 0"), {"v": NOTHING, "V": NOTHING}),
    b"timeout": Wrapper(
        _wrapper(
            "timeout",
            "-k --kill-after 1\n-s --signal 1\n-v --verbose 0\n-f --foreground 0\n-p --preserve-status 0",
            operands=1,
        )
    ),
    b"setsid": Wrapper(_wrapper("setsid", "-c --ctty 0\n-f --fork 0\n-w --wait 0")),
    b"strace": Wrapper(_wrapper("strace", _STRACE), {"env": SET, "attach": NOTHING}),
    b"ltrace": Wrapper(_wrapper("ltrace", _LTRACE), {"p": NOTHING}),
    b"ncu": Wrapper(_wrapper("ncu", _NCU), {"import": NOTHING}),
    b"nv-nsight-cu-cli": Wrapper(_wrapper("ncu", _NCU), {"import": NOTHING}),
    b"rocprof": Wrapper(_wrapper("rocprof", _ROCPROF)),
    b"rocprofv2": Wrapper(_wrapper("rocprofv2", _ROCPROF)),
    b"rocprofv3": Wrapper(_wrapper("rocprofv3"), dashes=True),
    b"vtune": Wrapper(_wrapper("vtune"), dashes=True),
    b"advisor": Wrapper(_wrapper("advisor"), dashes=True),
    b"ch-run": Wrapper(_wrapper("ch-run"), dashes=True, container=True),
    b"shifter": Wrapper(
        _wrapper("shifter", _SHIFTER),
        {"env": SET, "env-file": UNREAD, "clearenv": CLEAR},
        container=True,
    ),
    b"xvfb-run": Wrapper(
        _wrapper(
            "xvfb-run",
            """
            -a --auto-servernum 0
            -e --error-file 1
            -f --auth-file 1
            -h --help 0
            -l --listen-tcp 0
            -n --server-num 1
            -p --xauth-protocol 1
            -s --server-args 1
            -w --wait 1
            """,
        )
    ),
    b"chrt": Wrapper(
        _wrapper(
            "chrt",
            "-a --all-tasks 0\n-p --pid 0\n-m --max 0\n-v --verbose 0\n-R --reset-on-fork 0\n-T --sched-runtime 1\n"
            "-P --sched-period 1\n-D --sched-deadline 1\n-b --batch 0\n-d --deadline 0\n-f --fifo 0\n-i --idle 0\n"
            "-o --other 0\n-r --rr 0",
            operands=1,
        ),
        {"pid": NOTHING, "max": NOTHING},
    ),
    b"prlimit": Wrapper(
        _wrapper("prlimit", "-p --pid 1\n" + "\n".join("--%s ?" % name for name in _PRLIMIT)), {"pid": NOTHING}
    ),
    b"unbuffer": Wrapper(_wrapper("unbuffer", "-p 0")),
    b"tau_exec": Wrapper(_wrapper("tau_exec", "-T 1\n-v 0\n-io 0\n-memory 0\n-ompt 0")),
    b"omnitrace-run": Wrapper(_wrapper("omnitrace-run"), dashes=True),
    b"rocprof-sys-run": Wrapper(_wrapper("rocprof-sys-run"), dashes=True),
    b"task_affinity": Wrapper(_wrapper("task_affinity")),  # TACC, behind ibrun
    b"tacc_affinity": Wrapper(_wrapper("tacc_affinity")),
    b"mem_affinity": Wrapper(_wrapper("mem_affinity")),
}

_MAMBA_RUN = Wrapper(_wrapper("mamba run", _MAMBA), {"env": SET, "clean-env": CLEAR})
_APPTAINER_GLOBALS = "-d --debug 0\n-q --quiet 0\n-s --silent 0\n-v --verbose 0\n--nocolor 0\n-c --config 1"
_APPTAINER_VERBS = {b"exec": _apptainer(), b"run": _apptainer("the image's run script decides what it starts")}

BY_VERB: Dict[bytes, Tuple[Table, Dict[bytes, Wrapper]]] = {
    name: (_wrapper(name.decode(), globals_, GO), verbs)
    for name, globals_, verbs in (
        (b"apptainer", _APPTAINER_GLOBALS, _APPTAINER_VERBS),
        (b"singularity", _APPTAINER_GLOBALS, _APPTAINER_VERBS),
        (
            b"podman-hpc",
            "--squash-dir 1\n--additional-stores 1\n--log-level 1",
            {
                b"run": _podman(),
                b"shared-run": _podman(KEEP_RANKS),
            },
        ),
        (b"podman", "--log-level, --root, --runroot, --storage-opt, --connection 1\n--remote 0", {b"run": _podman()}),
        (
            b"sarus",
            "--debug, --verbose 0",
            {b"run": Wrapper(_wrapper("sarus run", _SARUS, GO, 1), {"env": SET}, container=True)},
        ),
        (
            b"enroot",
            "",
            {
                b"start": Wrapper(
                    _wrapper("enroot start", _ENROOT, GETOPT, 1), {"env": SET}, clears=True, container=True
                )
            },
        ),
        (
            b"nsys",
            "",
            {verb: Wrapper(_wrapper("nsys", _NSYS), {"env-var": SET_LIST}) for verb in (b"profile", b"launch")},
        ),
        (b"conda", "", {b"run": Wrapper(_wrapper("conda run", _CONDA, ARGPARSE))}),
        (b"mamba", "", {b"run": _MAMBA_RUN}),
        (b"micromamba", "", {b"run": _MAMBA_RUN}),
        (
            b"uv",
            _UV,
            {b"run": Wrapper(_wrapper("uv run", _UV, GO), {"env-file": UNREAD}, runs_scripts=True)},
        ),
        (b"poetry", "-C --directory 1\n-P --project 1\n-q --quiet 0\n-v 0", {b"run": Wrapper(_wrapper("poetry run"))}),
        (b"docker", _DOCKERS, {b"run": _DOCKER}),
        (b"nerdctl", _DOCKERS, {b"run": _DOCKER}),
        (b"pdm", "-q --quiet 0\n-v --verbose 0\n-p --project 1", {b"run": Wrapper(_wrapper("pdm run"))}),
        (b"rye", "-q --quiet 0\n-v --verbose 0", {b"run": Wrapper(_wrapper("rye run"))}),
        (b"py-spy", "", {b"record": Wrapper(_wrapper("py-spy record"), dashes=True)}),
        (b"pipenv", "-q --quiet 0\n-v --verbose 0\n--python 1", {b"run": Wrapper(_wrapper("pipenv run"))}),
        (
            b"pixi",
            "-v --verbose 0\n-q --quiet 0",
            {b"run": Wrapper(_wrapper("pixi run", _PIXI, GO), {"clean-env": CLEAR}, unread=_STARTS)},
        ),
    )
}
