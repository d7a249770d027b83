#!/bin/sh
# Begins as the image of the MariaDB project does: an empty data directory is filled. Root's password and a database are of the
# environment. Everything that is written goes to /var/lib/mysql, /run/mysqld and /tmp.
set -eu
case ${1-} in -*) set -- mariadbd "$@" ;; esac
[ "${1-}" = mariadbd ] || exec "$@"
shift

data=/var/lib/mysql/data
if [ ! -d "$data" ]; then
    # Filled beside its place: one that was begun and not finished is begun anew.
    rm -rf "$data.new"
    mariadb-install-db --no-defaults --datadir="$data.new" --auth-root-authentication-method=normal --skip-test-db > /dev/null
    mv "$data.new" "$data"
fi

# A text in SQL.
quoted() {
    printf %s "$1" | sed "s/[\\\\']/\\\\&/g"
}
password=$(quoted "${MARIADB_ROOT_PASSWORD:?say the password of root in MARIADB_ROOT_PASSWORD}")
umask 077
cat > /tmp/init.sql << SQL
CREATE USER IF NOT EXISTS root@'%';
ALTER USER root@'%' IDENTIFIED BY '$password';
ALTER USER root@localhost IDENTIFIED BY '$password';
GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;
SQL
if [ -n "${MARIADB_DATABASE-}" ]; then
    printf 'CREATE DATABASE IF NOT EXISTS `%s`;\n' "$(printf %s "$MARIADB_DATABASE" | sed 's/`/``/g')" >> /tmp/init.sql
fi
exec mariadbd --no-defaults --datadir="$data" --socket=/run/mysqld/mysqld.sock --pid-file=/run/mysqld/mysqld.pid \
    --character-set-server=utf8mb4 --bind-address=0.0.0.0 --init-file=/tmp/init.sql "$@"
