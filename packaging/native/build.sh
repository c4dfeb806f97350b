#!/bin/sh
# Makes dist/maple-hpc_VERSION_ARCH.deb or dist/maple-hpc-VERSION-1.ARCH.rpm: build.sh deb|rpm [x86_64|aarch64].
# MAPLE_TREE_IS_MADE=1: of the tree that is there, for the second of both.
set -eu
cd "$(dirname "$0")/../.."
kind=$1
arch=${2:-$(uname -m)}
version=$(.venv/bin/python -c 'from maple_submit_filter import __version__; print(__version__)')
here=$PWD/packaging/native
made=$PWD/build/native/$arch
[ -n "${MAPLE_TREE_IS_MADE:-}" ] || { rm -rf "$made" && "$here/tree.sh" "$arch" "$made"; }
top=$(mktemp -d "$PWD/build/native/stage.XXXXXX")
trap 'rm -rf "$top"' EXIT
tree=$top/tree
cp -al "$made" "$tree"
mkdir -p dist
filled() { sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$2/" "$1"; }

case $kind in
deb)
    case $arch in x86_64) name=amd64 ;; aarch64) name=arm64 ;; esac
    mkdir -p "$tree/DEBIAN"
    filled "$here/control" "$name" >"$tree/DEBIAN/control"
    for script in postinst prerm; do
        install -m 755 "$here/$script" "$tree/DEBIAN/$script"
    done
    dpkg-deb --root-owner-group -Zgzip --build "$tree" "dist/maple-hpc_${version}_$name.deb" >/dev/null
    echo "dist/maple-hpc_${version}_$name.deb"
    ;;
rpm)
    mv "$tree/usr/share/zsh/vendor-completions" "$tree/usr/share/zsh/site-functions"
    filled "$here/maple-hpc.spec" "$arch" >"$top/maple-hpc.spec"
    rpmbuild --quiet -bb --target "$arch" --define "_topdir $top" --define "tree $tree" --define "scripts $here" \
        "$top/maple-hpc.spec" 2>&1 | grep -vE '^(warning: (line|absolute symlink)|Building )' || true
    mv "$top"/RPMS/*/*.rpm dist/
    echo "dist/maple-hpc-$version-1.$arch.rpm"
    ;;
*) echo "usage: build.sh deb|rpm [x86_64|aarch64]" >&2 && exit 2 ;;
esac
