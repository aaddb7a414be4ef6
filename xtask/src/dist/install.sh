#!/bin/sh
# install.sh [ARCHIVE [PREFIX]]: installs runner from its archive, whose digest stands in sha256sums.txt
# beside it. Without an archive: the one beside this script. PREFIX is ~/.local unless told otherwise.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
archive=${1:-$(ls "$here"/runner-*.tar.gz | head -n 1)}
prefix=${2:-${HOME:?set HOME, or name a prefix: install.sh ARCHIVE PREFIX}/.local}
folder=$(cd "$(dirname "$archive")" && pwd)
name=$(basename "$archive")

if ! grep -q "  $name\$" "$folder/sha256sums.txt"; then
    echo "install.sh: sha256sums.txt does not list $name" >&2
    exit 1
fi
(cd "$folder" && grep "  $name\$" sha256sums.txt | sha256sum --check --quiet -) || {
    echo "install.sh: $name is not what sha256sums.txt says; download both again" >&2
    exit 1
}
inner=${name%.tar.gz}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -xzf "$folder/$name" -C "$work"
mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" \
    "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
# Beside and renamed: one that runs is not disturbed.
cp "$work/$inner/runner" "$prefix/bin/.runner.new"
mv "$prefix/bin/.runner.new" "$prefix/bin/runner"
cp "$work/$inner"/man/*.1 "$prefix/share/man/man1/"
cp "$work/$inner/completions/runner.bash" "$prefix/share/bash-completion/completions/runner"
cp "$work/$inner/completions/_runner" "$prefix/share/zsh/site-functions/"
cp "$work/$inner/completions/runner.fish" "$prefix/share/fish/vendor_completions.d/"
"$prefix/bin/runner" --version
case ":$PATH:" in
*":$prefix/bin:"*) ;;
*) echo "put $prefix/bin into your PATH" ;;
esac
