#!/bin/sh
# Installs the Debian packages that the lab, the front and the tests need; only those that are missing.
# Says what it does; asks nothing. Run again, it finds nothing to do. Services in them are not started: Debian's packages
# start theirs at once, unless /usr/sbin/policy-rc.d (invoke-rc.d(8)) says no; that is put there for this time alone.
set -eu

wanted="bash gcc libc6-dev make python3 python3-venv
    munge slurm-wlm slurmctld slurmd slurm-client slurm-wlm-basic-plugins
    hostname iproute2 libseccomp2 mpich postgresql procps util-linux zsh fish"

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    missing=
    for command in gcc make munged slurmctld slurmd sbatch mpiexec.hydra ip unshare nsenter; do
        PATH="$PATH:/usr/sbin:/sbin" command -v "$command" >/dev/null || missing="$missing $command"
    done
    [ -z "$missing" ] && exit 0
    echo "make packages: this is no Debian, and these commands are missing:$missing" >&2
    echo "help: install Slurm, munge, MPICH, gcc, iproute2 and util-linux with your own package manager, then run make again" >&2
    exit 1
fi

policy=${MAPLE_POLICY_RC_D:-/usr/sbin/policy-rc.d} # another place in tests
ours="# Of maple's set-up: no service starts while packages are installed. Process "

# Whether the policy is one of ours whose process is gone: it was killed, and could not take it away.
forgotten() {
    [ -f "$policy" ] || return 1
    { read -r _ && read -r line; } <"$policy" 2>/dev/null || return 1
    process=${line#"$ours"}
    [ "$process" != "$line" ] && ! [ -d "/proc/$process" ]
}

missing=
for package in $wanted; do
    # shellcheck disable=SC2016 # the field name is dpkg's, not ours
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
forgotten || [ -n "$missing" ] || exit 0

root=
if [ "$(id -u)" != 0 ]; then
    [ -n "$missing" ] || exit 0
    if ! command -v sudo >/dev/null; then
        echo "make packages: not root, there is no sudo, and these packages are missing:$missing" >&2
        echo "help: as root, run: apt-get install --no-install-recommends$missing" >&2
        exit 1
    fi
    root="sudo"
    [ -t 0 ] || root="sudo -n" # nobody is there to type a password
fi

log= held=
end() {
    [ -z "$log" ] || rm -f "$log"
    [ -z "$held" ] || $root rm -f "$policy"
}
trap end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

if forgotten; then
    echo "taking away $policy, which a set-up that was killed has left"
    $root rm -f "$policy"
    [ -n "$missing" ] || exit 0
fi
echo "installing Debian packages:$missing"
# shellcheck disable=SC2016 # the shell that is started expands it; `set -C`: nothing that is there is overwritten
if [ -e "$policy" ] || [ -L "$policy" ]; then
    echo "$policy is there already and stays: it says whether services in them start now"
elif held=yes && $root sh -c 'set -C; printf "#!/bin/sh\n%s\nexit 101\n" "$2" >"$1" && chmod 755 "$1"' \
    sh "$policy" "$ours$$" 2>/dev/null; then
    echo "services in them are not started now ($policy, for this time alone); the next boot starts those that are enabled"
else
    held=
    echo "make packages: cannot write $policy, so that services in these packages would start at once" >&2
    echo "help: install them yourself: apt-get install --no-install-recommends$missing" >&2
    exit 1
fi

log=$(mktemp)

# needrestart and debconf must not ask; </dev/null because they would ask there.
apt() {
    $root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l NEEDRESTART_SUSPEND=1 \
        apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 "$@" </dev/null >"$log" 2>&1
}

# shellcheck disable=SC2086 # a list of words
if ! apt install --no-install-recommends $missing; then
    echo "refreshing the package lists first"
    if ! apt update || ! apt install --no-install-recommends $missing; then
        tail -n 20 "$log" >&2
        echo "make packages: apt-get could not install:$missing" >&2
        echo "help: the lines above say why; set it right and run make again" >&2
        exit 1
    fi
fi
