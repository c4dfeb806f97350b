#!/bin/sh
# Fills FOLDER with our wheel and all that maple-hpc[daemon,window] needs on x86_64 by Python 3.11 to 3.13, by the hashes of
# daemon.lock: wheelhouse.sh FOLDER [VERSION...]. There `pip install --no-index --find-links FOLDER` needs neither network nor
# compiler.
set -eu
to=$1
shift
mkdir -p "$to"
to=$(cd "$to" && pwd)
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- 3.11 3.12 3.13
python=.venv/bin/python
pip() { "$python" -m pip --quiet --quiet --disable-pip-version-check "$@"; }

rm -f "$to"/maple_hpc-*.whl
pip wheel --no-deps --no-build-isolation --wheel-dir "$to" .
for version in "$@"; do
    pip download --only-binary :all: --dest "$to" --require-hashes --requirement packaging/setup/daemon.lock \
        --python-version "$version" --implementation cp --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 \
        --platform manylinux_2_28_x86_64
done
echo "$to"
