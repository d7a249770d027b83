export PGPASSWORD="${PILOTHOUSE_PASSWORD-}" PGHOST="$PILOTHOUSE_HOST" PGPORT="$PILOTHOUSE_PORT" PGUSER="${PILOTHOUSE_USER:-postgres}"
if [ "$PILOTHOUSE_FORMAT" = postgresql-custom ]; then
  # What a migration has added stands in the way of the old objects, or would stay. All of it goes, and comes back if the rest fails.
  cat > /scratch/drop.sql <<'SQL'
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
    AND (pg_has_role(usesysid, 'MEMBER') OR pg_has_role('pg_signal_backend', 'MEMBER'));
BEGIN;
SET client_min_messages = warning;
SELECT format('DROP SCHEMA %I CASCADE', nspname) FROM pg_namespace n
  WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public')
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_namespace'::regclass AND d.objid = n.oid AND d.deptype = 'e')
\gexec
SELECT format('DROP %s IF EXISTS %s CASCADE', replace(replace(o.type, 'composite ', ''), ' object', ''), o.identity)
  FROM pg_depend d, pg_identify_object(d.classid, d.objid, d.objsubid) o
  WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = to_regnamespace('public') AND d.deptype = 'n'
    AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = d.classid AND e.objid = d.objid AND e.deptype = 'e')
\gexec
SELECT 'CREATE SCHEMA public' WHERE to_regnamespace('public') IS NULL
\gexec
SELECT lo_unlink(oid) FROM pg_largeobject_metadata;
SQL
  mkfifo /scratch/sql
  # It ends the transaction when it has read the archive to its end, and not before.
  pg_restore --no-password --clean --if-exists --single-transaction --file=- < "$PILOTHOUSE_INPUT" > /scratch/sql &
  psql --no-password --no-psqlrc --quiet --output=/scratch/rows --set=ON_ERROR_STOP=1 --dbname="$PILOTHOUSE_DATABASE" \
    --file=/scratch/drop.sql --file=/scratch/sql
  wait "$!"
else
  # The role that restores is there and cannot be dropped, so psql is not to stop at errors; others than these two count.
  export PGOPTIONS='-c lc_messages=C'
  # No database is dropped while somebody is connected to it.
  psql --no-password --no-psqlrc --quiet --output=/scratch/ended --dbname=postgres \
    --command='SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname IS NOT NULL AND pid <> pg_backend_pid()'
  psql --no-password --no-psqlrc --quiet --output=/scratch/rows --dbname=postgres < "$PILOTHOUSE_INPUT" 2> /scratch/said
  cat /scratch/said >&2
  grep -e 'ERROR: ' -e 'FATAL: ' /scratch/said > /scratch/errors || [ $? = 1 ]
  if grep -v -F -e 'current user cannot be dropped' -e "role \"$PGUSER\" already exists" /scratch/errors > /dev/null; then exit 1; fi
fi
