#!/usr/bin/env bash
# Evaluates CONFIG. The program adds to the summary of the job, and tells the job why it failed. Ends as the
# evaluation ends.
set -euo pipefail

read -ra arguments <<<"$ARGUMENTS"
table=$(mktemp "$RUNNER_TEMP/table-XXXXXX")
size() { wc -c <"$GITHUB_STEP_SUMMARY" 2>/dev/null || echo 0; }
before=$(size)
code=0
# What it says here has no command to the job in it but for its own.
"$RUNNER" eval -c "$CONFIG" -o "$RESULTS" -o "$PAGE" "${arguments[@]}" 2>&1 >"$table" || code=$?
# What models answer is on these lines, and must not be taken for commands to the job.
token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$token"
cat "$table"
echo "::$token::"
if ((code != 0)) && (($(size) == before)); then
    echo "### runner: exit code $code" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
