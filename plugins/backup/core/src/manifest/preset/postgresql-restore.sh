export PGPASSWORD="${PILOTHOUSE_PASSWORD-}" PGHOST="$PILOTHOUSE_HOST" PGPORT="$PILOTHOUSE_PORT" PGUSER="${PILOTHOUSE_USER:-postgres}"
if [ "$PILOTHOUSE_FORMAT" = postgresql-custom ]; then
  # What a migration has added stands in the way of the old objects, or would stay. All of it goes, and comes back if the rest fails.
  cat > /scratch/drop.sql <<'SQL'
-- Of others' sessions a plain role is not told what type they are.
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND coalesce(backend_type, 'client backend') = 'client backend'
    AND (pg_has_role(usesysid, 'USAGE') OR pg_has_role('pg_signal_backend', 'USAGE'))
    AND (current_setting('is_superuser') = 'on' OR NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = usesysid AND r.rolsuper));
BEGIN;
SET client_min_messages = warning;
-- What is in no schema, triggers of events first: they would see what follows. Oids below are those of initdb.
SELECT format('DROP %s IF EXISTS %s CASCADE', replace(o.type, '-', ' '), o.identity)
  FROM (SELECT tableoid, oid FROM pg_event_trigger UNION ALL SELECT tableoid, oid FROM pg_publication
    UNION ALL SELECT tableoid, oid FROM pg_extension UNION ALL SELECT tableoid, oid FROM pg_foreign_data_wrapper
    UNION ALL SELECT tableoid, oid FROM pg_foreign_server UNION ALL SELECT tableoid, oid FROM pg_cast
    UNION ALL SELECT tableoid, oid FROM pg_language UNION ALL SELECT tableoid, oid FROM pg_am) c,
    pg_identify_object(c.tableoid, c.oid, 0) o
  WHERE c.oid >= 16384
    AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = c.tableoid AND e.objid = c.oid AND e.deptype IN ('e', 'i'))
  ORDER BY o.type <> 'event trigger'
\gexec
-- A subscription lets go of its slot first, or could not be dropped in a transaction. Others than superusers have none in their archives.
SELECT format('ALTER SUBSCRIPTION %I DISABLE', subname), format('ALTER SUBSCRIPTION %I SET (slot_name = NONE)', subname),
    format('DROP SUBSCRIPTION %I', subname)
  FROM pg_subscription
  WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND current_setting('is_superuser') = 'on'
\gexec
SELECT format('DROP SCHEMA %I CASCADE', nspname) FROM pg_namespace n
  WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public')
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_namespace'::regclass AND d.objid = n.oid AND d.deptype = 'e')
\gexec
-- An aggregate's identity has neither its (*) nor its ORDER BY; as a routine it needs none.
SELECT format('DROP %s IF EXISTS %s CASCADE',
    replace(replace(replace(o.type, 'composite ', ''), ' object', ''), 'aggregate', 'routine'), o.identity)
  FROM pg_depend d, pg_identify_object(d.classid, d.objid, d.objsubid) o
  WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = to_regnamespace('public') AND d.deptype = 'n'
    AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = d.classid AND e.objid = d.objid AND e.objsubid = d.objsubid
      AND e.deptype IN ('e', 'i'))
\gexec
SELECT 'CREATE SCHEMA public' WHERE to_regnamespace('public') IS NULL
\gexec
SELECT lo_unlink(oid) FROM pg_largeobject_metadata;
SQL
  mkfifo /scratch/sql
  # It ends the transaction when it has read the archive to its end, and not before.
  pg_restore --no-password --single-transaction --file=- < "$PILOTHOUSE_INPUT" > /scratch/sql &
  # Nobody is sent away before the archive has come: its first line has nothing but dashes.
  exec 3< /scratch/sql
  IFS= read -r _ <&3
  psql --no-password --no-psqlrc --quiet --output=/scratch/rows --set=ON_ERROR_STOP=1 --dbname="$PILOTHOUSE_DATABASE" \
    --file=/scratch/drop.sql --file=- <&3
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
