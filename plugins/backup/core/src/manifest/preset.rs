//! What is known of databases: their images, and how their own tools write out, try and put back.
//!
//! Every script is for `/bin/sh` and has no pipeline. Parameters come as environment; none is put into the text of a script. What an
//! image has to have besides a shell, coreutils (`cat`, `mv`, `sleep`, `mkfifo`) and, for PostgreSQL, `grep`:
//!
//! | preset | dump | restore | trial |
//! |---|---|---|---|
//! | `mysql` | `mysqldump` | `mysql` | `mysqld`, `mysqladmin`, `mysqlcheck` |
//! | `mariadb` | `mariadb-dump` | `mariadb` | `mariadb-install-db`, `mariadbd`, `mariadb-admin`, `mariadb-check` |
//! | `postgresql` | `pg_dump` or `pg_dumpall` | `psql`, `pg_restore` | `initdb`, `pg_ctl` |
//! | `mongodb` | `mongodump` | `mongorestore` | `mongod` |
//! | `redis` (6 and later) | `redis-cli` | `redis-cli`, `redis-server`, `redis-check-rdb`, `od`, `sed`, `sha256sum` | `redis-check-rdb` |
//! | `volume` | `tar` | `tar` | `tar` |
//!
//! Images of the projects themselves have all of these. MariaDB 10.4 and older call their tools as MySQL does: use `mysql` for those.

use backup_api::Preset;

/// Begins the script of a dump, whose files `transfer` has to be able to read under its own user: says at the end, and only then, with what code it ended. `transfer` waits for that.
pub(super) const TELL: &str = r#"set -eu
umask 022
tell() { code=$?; printf %s "$code" > /exchange/status.new; mv /exchange/status.new /exchange/status; exit "$code"; }
trap tell EXIT
trap 'exit 143' TERM INT
"#;

/// Runs what a template names; its standard output is the data.
pub(super) const RUN_STREAM: &str = "\"$@\" > \"$PILOTHOUSE_OUTPUT\"\n";
/// The same for what writes to the file itself.
pub(super) const RUN_FILE: &str = "\"$@\"\n";
/// The same for what reads the data from its standard input.
pub(super) const RUN_INPUT: &str = "\"$@\" < \"$PILOTHOUSE_INPUT\"\n";

/// Begins the script of a restore or a trial. `whole` is true if `transfer` found all of the data to be what it should be: an input
/// that was cut looks as if it had ended.
pub(super) const READ: &str = r#"set -eu
umask 022
whole() {
  tries=0
  until [ -e /exchange/status ]; do
    tries=$((tries + 1))
    [ "$tries" -le 60 ] || return 1
    sleep 1
  done
  [ "$(cat /exchange/status)" = 0 ]
}
"#;
/// Ends the script of a restore or a trial.
pub(super) const END: &str = "whole\n";

/// What is known of a database.
pub(super) struct Known {
    pub(super) image: &'static str,
    pub(super) port: Option<u16>,
    pub(super) dump: &'static str,
    pub(super) restore: &'static str,
    pub(super) trial: &'static str,
    /// The restore writes to the claim and not to a server.
    pub(super) restores_to_claim: bool,
    /// How long the restore is given to bring a server back to order when it is ended, in seconds, where that is more than usual.
    pub(super) restore_grace: Option<u32>,
}

pub(super) fn known(preset: Preset) -> Known {
    match preset {
        Preset::MySql => MYSQL,
        Preset::MariaDb => MARIADB,
        Preset::PostgreSql => POSTGRESQL,
        Preset::MongoDb => MONGODB,
        Preset::Redis => REDIS,
        Preset::Volume => VOLUME,
    }
}

const MYSQL: Known = Known {
    image: "docker.io/library/mysql:8.4",
    port: Some(3306),
    dump: r#"export MYSQL_PWD="${PILOTHOUSE_PASSWORD-}"
set -- --host="$PILOTHOUSE_HOST" --port="$PILOTHOUSE_PORT" --user="${PILOTHOUSE_USER:-root}" --protocol=TCP
set -- "$@" --single-transaction --quick --routines --events --triggers --hex-blob --no-tablespaces
if [ -n "${PILOTHOUSE_DATABASE-}" ]; then
  set -- "$@" --add-drop-database --databases "$PILOTHOUSE_DATABASE"
else
  set -- "$@" --all-databases
fi
mysqldump "$@" > "$PILOTHOUSE_OUTPUT"
"#,
    restore: r#"export MYSQL_PWD="${PILOTHOUSE_PASSWORD-}"
set -- --host="$PILOTHOUSE_HOST" --port="$PILOTHOUSE_PORT" --user="${PILOTHOUSE_USER:-root}" --protocol=TCP
mysql "$@" < "$PILOTHOUSE_INPUT"
# With all databases come users, of whom the server does not know before it is told.
[ -n "${PILOTHOUSE_DATABASE-}" ] || mysql "$@" --execute='FLUSH PRIVILEGES'
"#,
    trial: r#"mysqld --no-defaults --initialize-insecure --datadir=/scratch/data
mysqld --no-defaults --datadir=/scratch/data --socket=/scratch/s --pid-file=/scratch/pid --skip-networking --mysqlx=OFF &
server=$!
tries=0
until mysqladmin --no-defaults --socket=/scratch/s --user=root ping > /scratch/ping 2>&1; do
  tries=$((tries + 1))
  [ "$tries" -le 120 ] && kill -0 "$server"
  sleep 1
done
mysql --no-defaults --socket=/scratch/s --user=root < "$PILOTHOUSE_INPUT"
mysqlcheck --no-defaults --socket=/scratch/s --user=root --all-databases
"#,
    restores_to_claim: false,
    restore_grace: None,
};

const MARIADB: Known = Known {
    image: "docker.io/library/mariadb:11.8",
    port: Some(3306),
    dump: r#"export MYSQL_PWD="${PILOTHOUSE_PASSWORD-}"
set -- --host="$PILOTHOUSE_HOST" --port="$PILOTHOUSE_PORT" --user="${PILOTHOUSE_USER:-root}" --protocol=TCP
set -- "$@" --single-transaction --quick --routines --events --triggers --hex-blob
if [ -n "${PILOTHOUSE_DATABASE-}" ]; then
  set -- "$@" --add-drop-database --databases "$PILOTHOUSE_DATABASE"
else
  set -- "$@" --all-databases
fi
mariadb-dump "$@" > "$PILOTHOUSE_OUTPUT"
"#,
    restore: r#"export MYSQL_PWD="${PILOTHOUSE_PASSWORD-}"
set -- --host="$PILOTHOUSE_HOST" --port="$PILOTHOUSE_PORT" --user="${PILOTHOUSE_USER:-root}" --protocol=TCP
mariadb "$@" < "$PILOTHOUSE_INPUT"
# With all databases come users, of whom the server does not know before it is told.
[ -n "${PILOTHOUSE_DATABASE-}" ] || mariadb "$@" --execute='FLUSH PRIVILEGES'
"#,
    trial: r#"mariadb-install-db --no-defaults --datadir=/scratch/data --auth-root-authentication-method=normal --skip-test-db > /scratch/log
mariadbd --no-defaults --datadir=/scratch/data --socket=/scratch/s --pid-file=/scratch/pid --skip-networking &
server=$!
tries=0
until mariadb-admin --no-defaults --socket=/scratch/s --user=root ping > /scratch/ping 2>&1; do
  tries=$((tries + 1))
  [ "$tries" -le 120 ] && kill -0 "$server"
  sleep 1
done
mariadb --no-defaults --socket=/scratch/s --user=root < "$PILOTHOUSE_INPUT"
mariadb-check --no-defaults --socket=/scratch/s --user=root --all-databases
"#,
    restores_to_claim: false,
    restore_grace: None,
};

const POSTGRESQL: Known = Known {
    image: "docker.io/library/postgres:18",
    port: Some(5432),
    dump: r#"export PGPASSWORD="${PILOTHOUSE_PASSWORD-}" PGHOST="$PILOTHOUSE_HOST" PGPORT="$PILOTHOUSE_PORT" PGUSER="${PILOTHOUSE_USER:-postgres}"
if [ -n "${PILOTHOUSE_DATABASE-}" ]; then
  pg_dump --no-password --format=custom --dbname="$PILOTHOUSE_DATABASE" > "$PILOTHOUSE_OUTPUT"
else
  pg_dumpall --no-password --clean --if-exists > "$PILOTHOUSE_OUTPUT"
fi
"#,
    restore: include_str!("preset/postgresql-restore.sh"),
    // No role of the dump is that of the scratch server.
    trial: r#"initdb --pgdata=/scratch/data --username=pilothouse-trial --auth=trust > /scratch/log
pg_ctl --pgdata=/scratch/data --log=/scratch/log --wait --options="-c listen_addresses='' -k /scratch" start
export PGHOST=/scratch PGUSER=pilothouse-trial
if [ "$PILOTHOUSE_FORMAT" = postgresql-custom ]; then
  createdb trial
  pg_restore --no-owner --no-acl --exit-on-error --dbname=trial < "$PILOTHOUSE_INPUT"
else
  psql --no-psqlrc --quiet --output=/scratch/rows --set=ON_ERROR_STOP=1 --dbname=postgres < "$PILOTHOUSE_INPUT"
fi
"#,
    restores_to_claim: false,
    restore_grace: None,
};

const MONGODB: Known = Known {
    image: "docker.io/library/mongo:8.0",
    port: Some(27017),
    dump: r#"set -- --host="$PILOTHOUSE_HOST" --port="$PILOTHOUSE_PORT" --archive
if [ -n "${PILOTHOUSE_DATABASE-}" ]; then set -- "$@" --db="$PILOTHOUSE_DATABASE"; fi
if [ -n "${PILOTHOUSE_USER-}" ]; then
  (umask 077 && printf 'password: |-\n  %s\n' "$PILOTHOUSE_PASSWORD" > /scratch/login)
  set -- "$@" --username="$PILOTHOUSE_USER" --authenticationDatabase=admin --config=/scratch/login
fi
mongodump "$@" > "$PILOTHOUSE_OUTPUT"
"#,
    restore: r#"set -- --host="$PILOTHOUSE_HOST" --port="$PILOTHOUSE_PORT" --archive --drop --stopOnError
if [ -n "${PILOTHOUSE_USER-}" ]; then
  (umask 077 && printf 'password: |-\n  %s\n' "$PILOTHOUSE_PASSWORD" > /scratch/login)
  set -- "$@" --username="$PILOTHOUSE_USER" --authenticationDatabase=admin --config=/scratch/login
fi
mongorestore "$@" < "$PILOTHOUSE_INPUT"
"#,
    trial: r#"mkdir /scratch/data
mongod --dbpath=/scratch/data --bind_ip=127.0.0.1 --port=27099 --fork --logpath=/scratch/log
mongorestore --host=127.0.0.1 --port=27099 --archive --stopOnError < "$PILOTHOUSE_INPUT"
"#,
    restores_to_claim: false,
    restore_grace: None,
};

const REDIS: Known = Known {
    image: "docker.io/library/redis:8.2",
    port: Some(6379),
    dump: r#"[ -z "${PILOTHOUSE_PASSWORD-}" ] || export REDISCLI_AUTH="$PILOTHOUSE_PASSWORD"
set -- -h "$PILOTHOUSE_HOST" -p "$PILOTHOUSE_PORT"
if [ -n "${PILOTHOUSE_USER-}" ]; then set -- "$@" --user "$PILOTHOUSE_USER"; fi
redis-cli "$@" --rdb - > "$PILOTHOUSE_OUTPUT"
"#,
    restore: include_str!("preset/redis-restore.sh"),
    trial: r#"cat "$PILOTHOUSE_INPUT" > /scratch/dump.rdb
redis-check-rdb /scratch/dump.rdb
"#,
    restores_to_claim: false,
    restore_grace: Some(600),
};

const VOLUME: Known = Known {
    image: "docker.io/library/busybox:1.37",
    port: None,
    dump: "tar -C /data -c -f - . > \"$PILOTHOUSE_OUTPUT\"\n",
    // All of it is unpacked beside the data before any of that is touched.
    restore: r#"rm -rf /data/.pilothouse-restore
mkdir /data/.pilothouse-restore
tar -C /data/.pilothouse-restore -x -p -f - < "$PILOTHOUSE_INPUT"
whole
find /data -mindepth 1 -maxdepth 1 ! -name .pilothouse-restore -exec rm -rf {} +
find /data/.pilothouse-restore -mindepth 1 -maxdepth 1 -exec mv {} /data/ ';'
rmdir /data/.pilothouse-restore
"#,
    trial: "tar -t -f - < \"$PILOTHOUSE_INPUT\" > /scratch/list\n",
    restores_to_claim: true,
    restore_grace: None,
};
