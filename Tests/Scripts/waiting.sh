# Sourced by checks, also in the roots that they make: how they wait, and fail.

fail() {
  echo "$(basename "$0" .sh): $*" >&2
  exit 1
}

# eventually SECONDS COMMAND…: repeats the command until it succeeds.
eventually() {
  local limit=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$limit" ] || fail "never came true: $*"
    sleep 0.1
  done
}
