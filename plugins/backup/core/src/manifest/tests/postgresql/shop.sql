-- What a database of PostgreSQL may have, and in what order that can go.
CREATE TABLE visit (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, page text);
INSERT INTO visit (page) SELECT 'Page ' || n FROM generate_series(1, 100) n;
CREATE VIEW pages AS SELECT v.id, v.page, count(*) FROM visit v GROUP BY v.id;
CREATE TABLE part (id int, k int) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (100);
INSERT INTO part VALUES (1, 2);
CREATE INDEX ON part (k);
CREATE STATISTICS spread ON id, k FROM part;

CREATE AGGREGATE number(*) (SFUNC = int8inc, STYPE = int8, INITCOND = '0');
CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int4, INITCOND = '0');
CREATE AGGREGATE middle(float8 ORDER BY float8)
  (SFUNC = ordered_set_transition, STYPE = internal, FINALFUNC = percentile_cont_float8_final);
CREATE TYPE span AS RANGE (subtype = float8);
CREATE TYPE state AS ENUM ('open', 'paid');
CREATE DOMAIN price AS int CHECK (VALUE > 0);
CREATE TYPE place AS (line int, street text);
CREATE FUNCTION next(int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1';
CREATE PROCEDURE nothing(int) LANGUAGE sql AS 'SELECT 1';
CREATE OPERATOR ### (LEFTARG = int, RIGHTARG = int, PROCEDURE = int4pl);
CREATE TEXT SEARCH CONFIGURATION words (COPY = simple);
CREATE COLLATION plain FROM "C";

CREATE SCHEMA shop;
CREATE TABLE shop.customer (id int PRIMARY KEY, state text, place public.place);
CREATE TABLE shop.sale (id bigserial PRIMARY KEY, customer int REFERENCES shop.customer, price public.price);
INSERT INTO shop.customer SELECT n, 's' || n % 3, ROW(n, 'q')::public.place FROM generate_series(1, 20) n;
INSERT INTO shop.sale (customer, price) SELECT 1 + n % 20, n FROM generate_series(1, 100) n;
CREATE VIEW shop.totals AS
  SELECT c.id, c.state, sum(s.price) FROM shop.customer c JOIN shop.sale s ON s.customer = c.id GROUP BY c.id;
CREATE MATERIALIZED VIEW best AS SELECT * FROM shop.totals;

-- In no schema.
CREATE FUNCTION state_of(int) RETURNS state LANGUAGE sql AS $$ SELECT 'open'::state $$;
CREATE CAST (int AS state) WITH FUNCTION state_of(int);
CREATE CAST (bytea AS text) WITH INOUT;
CREATE FOREIGN DATA WRAPPER "my wrapper";
CREATE SERVER "My server" FOREIGN DATA WRAPPER "my wrapper";
CREATE USER MAPPING FOR postgres SERVER "My server";
CREATE FOREIGN TABLE far (a int) SERVER "My server";
CREATE PUBLICATION "Visits" FOR TABLE visit;
CREATE PUBLICATION everything FOR ALL TABLES;
CREATE SUBSCRIPTION news CONNECTION 'dbname=nowhere' PUBLICATION x WITH (connect = false);
CREATE ACCESS METHOD pile TYPE TABLE HANDLER heap_tableam_handler;
SELECT lo_create(4711), lo_put(4711, 0, 'abc');
CREATE SCHEMA extra;
DO $$ DECLARE place record; BEGIN
  FOR place IN SELECT name, s FROM pg_available_extensions
    JOIN (VALUES ('pgcrypto', 'public'), ('hstore', 'extra'), ('adminpack', 'pg_catalog'), ('postgres_fdw', 'public')) v(x, s) ON x = name
  LOOP EXECUTE format('CREATE EXTENSION %I SCHEMA %I', place.name, place.s); END LOOP;
END $$;
-- It writes down whatever is dropped, and is not to see a restore.
CREATE TABLE dropped (what text);
CREATE FUNCTION write_down() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.dropped VALUES (tg_tag); END $$;
CREATE EVENT TRIGGER write_down ON sql_drop EXECUTE FUNCTION write_down();
