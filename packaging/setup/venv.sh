#!/bin/sh
# Makes .venv at the root of the checkout with every command in .venv/bin. Run again, it does only what has changed:
# the stamp holds the place of the checkout, the interpreter, pyproject.toml and the list of packages with their hashes.
set -eu
cd "$(dirname "$0")/../.."

newest() {
    for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
        path=$(command -v "$name") || continue
        "$path" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
        "$path" -c 'import ensurepip, venv' 2>/dev/null || continue
        echo "$path"
        return
    done
    echo "make venv: found no Python 3.11 or later that has the venv module" >&2
    echo "help: apt-get install python3 python3-venv, or name one: make venv PYTHON=/path/to/python3.12" >&2
    return 1
}

stamp=.venv/.made
lock=packaging/setup/dev.lock
state() {
    pwd
    .venv/bin/python -V
    cat pyproject.toml "$lock"
}

if [ -x .venv/bin/python ] && [ -f "$stamp" ] && state 2>/dev/null | cmp -s - "$stamp"; then
    exit 0
fi
if ! .venv/bin/python -m pip --version >/dev/null 2>&1 || [ "$(head -n 1 "$stamp" 2>/dev/null || pwd)" != "$(pwd)" ]; then
    python=$(newest)
    echo "making .venv with $python"
    rm -rf .venv
    "$python" -m venv .venv
fi
echo "installing maple-hpc and its tools into .venv"
pip() {  # twice quiet: of a machine's own settings for pip, which may warn of every package, only errors are heard
    .venv/bin/python -m pip install --quiet --quiet --no-input --disable-pip-version-check --root-user-action=ignore "$@"
}
# What comes from elsewhere is what the list says, byte for byte; then ours, which brings nothing more.
pip --require-hashes --only-binary :all: --requirement "$lock"
pip --no-deps --no-build-isolation --editable .
state >"$stamp"
