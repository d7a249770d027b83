#!/bin/sh
# Begins as the image of the PostgreSQL project does: an empty data directory is filled. The password of postgres and a database
# are of the environment. Everything that is written goes to /var/lib/postgresql/data, /run/postgresql and /tmp.
set -eu
case ${1-} in -*) set -- postgres "$@" ;; esac
[ "${1-}" = postgres ] || exec "$@"
shift

data=/var/lib/postgresql/data/pgdata
if [ ! -d "$data" ]; then
    # Filled beside its place: one that was begun and not finished is begun anew.
    rm -rf "$data.new"
    (umask 077 && printf '%s\n' "${POSTGRES_PASSWORD:?say the password of postgres in POSTGRES_PASSWORD}" > /tmp/password)
    initdb --pgdata="$data.new" --username=postgres --pwfile=/tmp/password --encoding=UTF8 --locale=C.UTF-8 \
        --auth-local=trust --auth-host=scram-sha-256 > /dev/null
    rm /tmp/password
    echo 'host all all all scram-sha-256' >> "$data.new/pg_hba.conf"
    if [ -n "${POSTGRES_DB-}" ]; then
        echo "CREATE DATABASE \"$(printf %s "$POSTGRES_DB" | sed 's/"/""/g')\"" |
            postgres --single -D "$data.new" postgres > /dev/null
    fi
    mv "$data.new" "$data"
fi
exec postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories=/run/postgresql "$@"
