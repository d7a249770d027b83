#!/bin/sh
# Begins as the image of the Redis project does: with the files of /data, and what is named behind it as the server's settings.
set -eu
case ${1-} in -*) set -- redis-server "$@" ;; esac
[ "${1-}" = redis-server ] || exec "$@"
shift
exec redis-server --dir /data --protected-mode no "$@"
