#!/bin/sh
# Makes build/slurm-SUITE of another Debian's Slurm packages: tests/lab/other_slurm.sh trixie (24.11), sid (newer still).
# Then: MAPLE_TEST_SLURM=build/slurm-trixie .venv/bin/pytest tests/lab
# The programs keep the C library that they were built for, so nothing of this machine is replaced. Wants the archive.
set -eu
cd "$(dirname "$0")/../.."
suite=${1:?"the name of a Debian release: trixie, sid"}
made=$(pwd)/build/slurm-$suite
[ -e "$made/.made" ] && exit 0
command -v apt-get >/dev/null || { echo "other_slurm.sh: only a Debian can unpack another's packages" >&2; exit 1; }
rm -rf "$made"
mkdir -p "$made/apt/lists/partial" "$made/apt/archives/partial" "$made/root" "$made/bin" "$made/sbin" "$made/lib"

mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -v security | head -n 1)
key=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$key] ${mirror:?"no archive of Debian is known to apt here"} $suite main" >"$made/apt/sources.list"
: >"$made/apt/status"
cat >"$made/apt/apt.conf" <<END
Dir::Etc::SourceList "$made/apt/sources.list";
Dir::Etc::SourceParts "/proc/nowhere";
Dir::State::Lists "$made/apt/lists";
Dir::State::Status "$made/apt/status";
Dir::Cache::Archives "$made/apt/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Debug::NoLocking "true";
APT::Sandbox::User "";
END
echo "fetching $suite's Slurm and the libraries it was built with"
for words in update \
    "install -y --download-only --no-install-recommends slurmctld slurmd slurm-client slurm-wlm-basic-plugins patchelf"; do
    # shellcheck disable=SC2086 # a list of words
    APT_CONFIG="$made/apt/apt.conf" apt-get -qq $words >"$made/apt/log" 2>&1 || { cat "$made/apt/log" >&2; exit 1; }
done
for package in "$made"/apt/archives/*.deb; do
    dpkg-deb -x "$package" "$made/root"
done
version=$(dpkg-deb -f "$made"/apt/archives/slurmctld_*.deb Version)
rm -rf "$made/apt"

# Libraries of a release lie in usr/lib/<triplet>, and in lib/<triplet> before the two were merged.
root=$made/root
libraries=
for folder in "$root"/usr/lib/*-linux-gnu "$root"/lib/*-linux-gnu; do
    [ -d "$folder" ] && libraries="$libraries${libraries:+:}$folder"
done
plugins=$(find "$root" -type d -name slurm-wlm -path '*-linux-gnu/*' | head -n 1)
loader=$(find "$root" -name 'ld-linux-*.so.*' | head -n 1)
for program in "$root"/usr/bin/* "$root"/usr/sbin/*; do
    name=$(basename "$program")
    case $name in sacct* | salloc | sattach | sbatch | sbcast | scancel | scontrol | sdiag | sinfo | sprio | squeue | \
        sreport | srun | sshare | sstat | strigger | slurm*) ;; *) continue ;; esac
    file=$(readlink -f "$program") || continue
    [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
    "$loader" --library-path "$libraries" "$root/usr/bin/patchelf" --set-interpreter "$loader" --force-rpath \
        --set-rpath "$plugins:$libraries" "$file"
    folder=$(basename "$(dirname "$program")")
    ln -sf "$file" "$made/$folder/${name%-wlm}"
done
ln -s "$plugins" "$made/lib/slurm"
echo "$version" >"$made/.made"
echo "Slurm $version is in build/slurm-$suite"
