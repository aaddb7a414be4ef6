#!/usr/bin/env bash
# Unpacks runner from ARCHIVE below RUNNER_TEMP, and says to the next steps where things are: they find it as
# `runner`, with the runs of this job.
set -euo pipefail

work=$(mktemp -d "$RUNNER_TEMP/runner-XXXXXX")
case "$ARCHIVE" in
https://*)
    if [[ -z $SHA256 ]]; then
        echo "::error::an archive from an address needs its digest: set sha256"
        exit 2
    fi
    curl --proto '=https' --tlsv1.2 --fail --silent --show-error --location --output "$work/archive.tar.gz" -- "$ARCHIVE"
    ;;
*) cp -- "$ARCHIVE" "$work/archive.tar.gz" ;;
esac
if [[ -n $SHA256 ]] && ! sha256sum --check --quiet - <<<"$SHA256  $work/archive.tar.gz"; then
    echo "::error::the archive is not the one that sha256 names"
    exit 2
fi
# The cache of GitHub finds an entry again by the paths in it: the home has the same one in every job.
home=$RUNNER_TEMP/runner-home
mkdir -p "$home"
mkdir "$work/program" "$work/results"
tar -xzf "$work/archive.tar.gz" -C "$work/program" --strip-components=1
"$work/program/runner" --version
{
    echo "program=$work/program/runner"
    echo "home=$home"
    echo "results=$work/results/results.json"
    echo "page=$work/results/results.html"
} >>"$GITHUB_OUTPUT"
echo "$work/program" >>"$GITHUB_PATH"
echo "RUNNER_HOME=$home" >>"$GITHUB_ENV"
