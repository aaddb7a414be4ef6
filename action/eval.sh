#!/usr/bin/env bash
# Evaluates CONFIG, and puts the table into the summary of the job. Ends as the evaluation ends.
set -euo pipefail

read -ra arguments <<<"$ARGUMENTS"
table=$(mktemp "$RUNNER_TEMP/table-XXXXXX")
# What models answer is on these lines, and must not be taken for commands to the job.
token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$token"
code=0
"$RUNNER" eval -c "$CONFIG" -o "$RESULTS" -o "$PAGE" "${arguments[@]}" 2>&1 >"$table" || code=$?
cat "$table"
echo "::$token::"
{
    echo "### runner: $( ((code == 0)) && echo passed || echo "exit code $code")"
    echo '<pre>'
    # The summary has at most a mebibyte; an answer is text there, never markup.
    head -c 900000 "$table" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'
    echo '</pre>'
} >>"$GITHUB_STEP_SUMMARY"
exit "$code"
