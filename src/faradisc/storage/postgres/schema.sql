-- The tables of format 1; functions.sql has its functions.
-- Columns are bigint, bytea and timestamptz only, and every statement on rows names one part (but reads of many
-- parts), so that the tables can be distributed by part.

CREATE TABLE kv_meta (name bytea PRIMARY KEY, value bigint NOT NULL);
INSERT INTO kv_meta VALUES ('format', 1);

CREATE SEQUENCE kv_version;

-- A row per part: who commits to the part holds its lock. `gen` is in the keys of the part's rows and log
-- entries, so raising it clears the part. Vacuum comes often, because every commit leaves a dead version here.
CREATE TABLE kv_part (
  part bytea PRIMARY KEY,
  gen bigint NOT NULL DEFAULT 1,
  seq bigint NOT NULL DEFAULT 0,
  items bigint NOT NULL DEFAULT 0,
  bytes bigint NOT NULL DEFAULT 0,
  epoch bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Payloads are not compressed, and up to a page not stored apart.
CREATE TABLE kv (
  part bytea, gen bigint, k bytea, ver bigint NOT NULL, v bytea NOT NULL, PRIMARY KEY (part, gen, k)
) WITH (fillfactor = 85, toast_tuple_target = 8160);
ALTER TABLE kv ALTER v SET STORAGE EXTERNAL;

CREATE TABLE kv_log (
  part bytea, gen bigint, seq bigint, entry bytea NOT NULL, PRIMARY KEY (part, gen, seq)
) WITH (toast_tuple_target = 8160);
ALTER TABLE kv_log ALTER entry SET STORAGE EXTERNAL;

-- Cleared generations whose rows are not deleted yet.
CREATE TABLE kv_garbage (part bytea, gen bigint, PRIMARY KEY (part, gen));

-- A row per connection that commits: number and answer of its last commit, written by that commit. Who lost the
-- answer seals the row and so learns it; a commit that is still under way then fails.
CREATE TABLE kv_caller (
  id bytea PRIMARY KEY, last bigint NOT NULL, answer bytea, sealed bigint NOT NULL, at timestamptz NOT NULL
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
