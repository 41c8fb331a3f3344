#!/bin/sh
# Installs Roster: downloads the archive for this machine, compares its checksum, and copies the files.
#
#   sh install.sh [--prefix DIR]     default: ~/.local
#
# The program goes to DIR/bin; manual pages and completions go to DIR/share. Another release or a mirror:
#   ROSTER_VERSION   the version, such as 0.1.0
#   ROSTER_URL       the address of the folder with the files of that release
set -eu

version=${ROSTER_VERSION:-@VERSION@}
version=${version#v}
url=${ROSTER_URL:-@URL@/v$version}
prefix=${HOME:-}/.local

fail() {
  printf 'install.sh: %s\n' "$1" >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Writes the file of an address.
download() {
  if has curl; then
    curl --fail --silent --show-error --location --output "$2" "$1"
  else
    wget -q -O "$2" "$1"
  fi || fail "cannot download $1"
}

sha256_of() {
  if has sha256sum; then
    sha256sum "$1"
  else
    shasum -a 256 "$1"
  fi | cut -d ' ' -f 1
}

# The whole script is read before anything is done, however the download of it ends.
main() {
  while [ $# -gt 0 ]; do
    case $1 in
      --prefix) [ $# -ge 2 ] || fail "--prefix needs a folder"; prefix=$2; shift 2 ;;
      --prefix=*) prefix=${1#--prefix=}; shift ;;
      -h | --help) printf 'usage: sh install.sh [--prefix DIR]\n'; exit 0 ;;
      *) fail "unknown argument $1; usage: sh install.sh [--prefix DIR]" ;;
    esac
  done
  [ "$prefix" != /.local ] || fail "HOME is not set: name a folder with --prefix"
  # Below `/` by accident: a variable that is empty.
  [ -n "$prefix" ] || fail "--prefix needs a folder"
  has curl || has wget || fail "neither curl nor wget is installed"
  has sha256sum || has shasum || fail "neither sha256sum nor shasum is installed: the archive cannot be verified"
  # Others use what is installed.
  umask 022

  [ "$(uname -s)" = Linux ] || fail "there is no program for $(uname -s): build Roster from source"
  case $(uname -m) in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no program for $(uname -m): build Roster from source" ;;
  esac
  name=roster-$version-$machine-linux

  folder=$(mktemp -d)
  new=$prefix/bin/.roster.$$
  trap 'rm -rf "$folder" "$new"' EXIT
  trap 'exit 1' HUP INT TERM
  download "$url/SHA256SUMS" "$folder/SHA256SUMS"
  download "$url/$name.tar.gz" "$folder/$name.tar.gz"
  wanted=$(awk -v file="$name.tar.gz" '$2 == file { print $1 }' "$folder/SHA256SUMS")
  [ -n "$wanted" ] || fail "$url/SHA256SUMS does not name $name.tar.gz"
  found=$(sha256_of "$folder/$name.tar.gz")
  [ "$found" = "$wanted" ] || fail "the checksum of $name.tar.gz is $found, not $wanted: nothing was installed"

  tar -xzf "$folder/$name.tar.gz" -C "$folder"
  install_files "$folder/$name"
  printf 'installed %s\n' "$about"
  case :${PATH:-}: in
    *:"$prefix/bin":*) ;;
    *) printf '%s is not in your PATH\n' "$prefix/bin" ;;
  esac
}

install_files() {
  share=$prefix/share
  [ ! -d "$prefix/bin/roster" ] || fail "$prefix/bin/roster is a folder: nothing was installed"
  mkdir -p "$prefix/bin" "$share/man/man1" "$share/bash-completion/completions" \
    "$share/fish/vendor_completions.d" "$share/zsh/site-functions"
  # A program that works is not replaced by one that does not run here.
  cp "$1/roster" "$new"
  chmod 755 "$new"
  about=$("$new" --version) || fail "the program does not run on this machine: nothing was installed"
  cp "$1"/man/*.1 "$share/man/man1/"
  cp "$1/completions/roster.bash" "$share/bash-completion/completions/roster"
  cp "$1/completions/roster.fish" "$share/fish/vendor_completions.d/roster.fish"
  cp "$1/completions/_roster" "$share/zsh/site-functions/_roster"
  # A program that runs cannot be overwritten, but it can be replaced.
  mv -f "$new" "$prefix/bin/roster"
}

main "$@"
