#!/bin/sh
# Writes the lists of packages that installing takes, each with its version and the hashes of its files: `make lock`.
# Made anew when pyproject.toml asks for something else, or newer versions are wanted; a test compares the two.
set -eu
cd "$(dirname "$0")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --quiet --disable-pip-version-check uv

compiled() { # NAME, what else uv takes; requirements come on stdin
    echo "writing packaging/setup/$1.lock"
    to=packaging/setup/$1.lock
    shift
    "$folder/bin/uv" pip compile --quiet --universal --python-version 3.11 \
        --generate-hashes --only-binary :all: --upgrade --no-header --no-annotate --no-emit-index-url \
        --no-emit-find-links --output-file "$folder/made" "$@" -
    {
        echo "# Written by make lock: pip install --require-hashes --only-binary :all: --requirement $to"
        cat "$folder/made"
    } >"$to"
}
# What builds our own wheel is in the list too; else pip would fetch it without any hash.
lock() {
    printf '%s\n' "hatchling>=1.26" "editables" | compiled "$@" pyproject.toml
}
lock daemon --extra daemon --extra postgresql --extra window
lock dev --extra daemon --extra dev
echo "mkdocs-material>=9.5" | compiled docs
