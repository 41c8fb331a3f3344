#!/bin/sh
# Makes ca.crt, ca.key, tls.crt and tls.key beside this script, for localhost; arguments go to `roster certs dev`.
set -eu
cd "$(dirname "$0")/.."
exec cargo run --quiet --release -- certs dev --dir certs "$@"
