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

# The arguments may stand in many lines, of which `read` would take the first. It fails where the text ends.
read -r -d '' -a arguments <<<"$ROSTER_ARGUMENTS" || true
code=0
"$prefix/bin/roster" lint "${arguments[@]}" -o github || code=$?
echo "code=$code" >>"$GITHUB_OUTPUT"
if [ -n "$ROSTER_SARIF_FILE" ]; then
  # The first run has counted. After a usage error there is nothing to upload.
  log="$prefix/roster.sarif"
  "$prefix/bin/roster" lint "${arguments[@]}" -o sarif >"$log" || [ $? = "$code" ]
  if [ -s "$log" ]; then
    mkdir -p "$(dirname "$ROSTER_SARIF_FILE")"
    mv "$log" "$ROSTER_SARIF_FILE"
    echo "sarif=written" >>"$GITHUB_OUTPUT"
  fi
fi
