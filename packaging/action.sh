#!/usr/bin/env bash
# The step of action.yml: installs a release of Roster, and lints. The exit code of `roster lint` is an output, so that the
# findings are uploaded before the run fails.
set -euo pipefail

field() { sed -n "s/^$1 = \"\(.*\)\"\$/\1/p" "$GITHUB_ACTION_PATH/Cargo.toml" | head -n 1; }
version="${ROSTER_VERSION:-$(field version)}"
# Another address is for mirrors, and for tests.
releases="${ROSTER_RELEASES:-$(field repository)/releases/download}"
prefix="${RUNNER_TEMP:-/tmp}/roster-$version"

ROSTER_VERSION="$version" ROSTER_URL="$releases/v$version" \
  sh "$GITHUB_ACTION_PATH/packaging/install.sh" --prefix "$prefix"
echo "$prefix/bin" >>"$GITHUB_PATH"

read -r -a arguments <<<"$ROSTER_ARGUMENTS"
code=0
"$prefix/bin/roster" lint "${arguments[@]}" -o github || code=$?
if [ -n "$ROSTER_SARIF_FILE" ]; then
  # The first run has counted.
  "$prefix/bin/roster" lint "${arguments[@]}" -o sarif >"$ROSTER_SARIF_FILE" || [ $? = "$code" ]
fi
echo "code=$code" >>"$GITHUB_OUTPUT"
