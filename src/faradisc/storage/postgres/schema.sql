-- The tables and functions of format 1.
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

-- outcome: 0 committed, 1 conflict (`found` is the version), 2 another epoch. Nothing is changed by 1 and 2.

-- One key of one part. `wanted`: the version it must have, null for any; `payload` null deletes.
CREATE FUNCTION kv_commit_one(
  caller bytea, request bigint, in_part bytea, must bigint, key bytea, wanted bigint, payload bytea,
  entries bytea[], d_items bigint, d_bytes bigint,
  OUT outcome bigint, OUT found_version bigint, OUT sequence bigint
) LANGUAGE plpgsql AS $$
DECLARE
  g bigint; e bigint;
  n bigint := coalesce(cardinality(entries), 0);
  touched boolean := n > 0 OR d_items <> 0 OR d_bytes <> 0;
BEGIN
  LOOP
    IF touched THEN
      UPDATE kv_part SET seq = seq + n, items = items + d_items, bytes = bytes + d_bytes
        WHERE part = in_part RETURNING gen, seq, epoch INTO g, sequence, e;
    ELSE
      SELECT gen, seq, epoch INTO g, sequence, e FROM kv_part WHERE part = in_part FOR NO KEY UPDATE;
    END IF;
    EXIT WHEN FOUND;
    INSERT INTO kv_part (part) VALUES (in_part) ON CONFLICT DO NOTHING;
  END LOOP;
  outcome := CASE WHEN must <> e THEN 2 ELSE 0 END;
  IF outcome = 0 THEN
    IF payload IS NULL AND wanted IS NULL THEN
      DELETE FROM kv WHERE part = in_part AND gen = g AND k = key;
    ELSIF wanted IS NULL THEN
      INSERT INTO kv VALUES (in_part, g, key, nextval('kv_version'), payload)
        ON CONFLICT (part, gen, k) DO UPDATE SET ver = excluded.ver, v = excluded.v;
    ELSE
      IF payload IS NULL THEN
        DELETE FROM kv WHERE part = in_part AND gen = g AND k = key AND ver = wanted;
      ELSIF wanted = 0 THEN
        INSERT INTO kv VALUES (in_part, g, key, nextval('kv_version'), payload) ON CONFLICT DO NOTHING;
      ELSE
        UPDATE kv SET ver = nextval('kv_version'), v = payload
          WHERE part = in_part AND gen = g AND k = key AND ver = wanted;
      END IF;
      IF NOT FOUND THEN
        found_version := coalesce((SELECT ver FROM kv WHERE part = in_part AND gen = g AND k = key), 0);
        outcome := CASE WHEN found_version <> wanted THEN 1 ELSE 0 END;
      END IF;
    END IF;
  END IF;
  IF outcome <> 0 THEN
    IF touched THEN
      UPDATE kv_part SET seq = seq - n, items = items - d_items, bytes = bytes - d_bytes WHERE part = in_part;
    END IF;
    RETURN;
  END IF;
  FOR i IN 1..n LOOP
    INSERT INTO kv_log VALUES (in_part, g, sequence - n + i, entries[i]);
  END LOOP;
  UPDATE kv_caller SET last = request, answer = int8send(sequence), at = now() WHERE id = caller AND sealed = 0;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the caller is unknown or sealed' USING ERRCODE = 'FD001';
  END IF;
END $$;

-- Any number of parts, ascending and distinct, and keys; c_at, w_at and l_at are positions in `parts`.
-- `counts`: log entries per part; w_payload null deletes. at_check: the check that failed. A caller of null: a
-- part of a commit whose last statement writes the caller's row (sharded.py).
CREATE FUNCTION kv_commit(
  caller bytea, request bigint, parts bytea[], musts bigint[], fences bigint[], counts bigint[],
  d_items bigint[], d_bytes bigint[], c_at bigint[], c_key bytea[], c_version bigint[],
  w_at bigint[], w_key bytea[], w_payload bytea[], l_at bigint[], l_entry bytea[],
  OUT outcome bigint, OUT at_check bigint, OUT found_version bigint, OUT sequences bigint[]
) LANGUAGE plpgsql AS $$
DECLARE
  g bigint; s bigint; e bigint; gens bigint[]; locked bigint := 0; touched boolean[]; next_entry bigint[];
  new_version bigint; packed bytea := '';
BEGIN
  outcome := 0;
  FOR i IN 1..cardinality(parts) LOOP
    -- A fence is set below, once all checks have passed.
    touched[i] := fences[i] IS NULL AND (counts[i] > 0 OR d_items[i] <> 0 OR d_bytes[i] <> 0);
    LOOP
      IF touched[i] THEN
        UPDATE kv_part SET seq = seq + counts[i], items = items + d_items[i], bytes = bytes + d_bytes[i]
          WHERE part = parts[i] RETURNING gen, seq, epoch INTO g, s, e;
      ELSE
        SELECT gen, seq, epoch INTO g, s, e FROM kv_part WHERE part = parts[i] FOR NO KEY UPDATE;
      END IF;
      EXIT WHEN FOUND;
      INSERT INTO kv_part (part) VALUES (parts[i]) ON CONFLICT DO NOTHING;
    END LOOP;
    locked := i;
    gens[i] := g;
    sequences[i] := s;
    IF musts[i] <> e THEN
      outcome := 2;
      EXIT;
    END IF;
  END LOOP;
  IF outcome = 0 THEN
    FOR i IN 1..cardinality(c_at) LOOP
      SELECT ver INTO found_version FROM kv WHERE part = parts[c_at[i]] AND gen = gens[c_at[i]] AND k = c_key[i];
      found_version := coalesce(found_version, 0);
      IF found_version <> c_version[i] THEN
        outcome := 1;
        at_check := i;
        EXIT;
      END IF;
    END LOOP;
  END IF;
  IF outcome <> 0 THEN
    FOR i IN 1..locked LOOP
      IF touched[i] THEN
        UPDATE kv_part SET seq = seq - counts[i], items = items - d_items[i], bytes = bytes - d_bytes[i]
          WHERE part = parts[i];
      END IF;
    END LOOP;
    RETURN;
  END IF;
  FOR i IN 1..locked LOOP
    IF fences[i] IS NOT NULL THEN
      UPDATE kv_part SET seq = seq + counts[i], items = items + d_items[i], bytes = bytes + d_bytes[i],
        epoch = fences[i] WHERE part = parts[i];
      sequences[i] := sequences[i] + counts[i];
    END IF;
    next_entry[i] := sequences[i] - counts[i];
    packed := packed || int8send(sequences[i]);
  END LOOP;
  IF cardinality(w_at) > 0 THEN
    new_version := nextval('kv_version');
  END IF;
  FOR i IN 1..cardinality(w_at) LOOP
    IF w_payload[i] IS NULL THEN
      DELETE FROM kv WHERE part = parts[w_at[i]] AND gen = gens[w_at[i]] AND k = w_key[i];
    ELSE
      INSERT INTO kv VALUES (parts[w_at[i]], gens[w_at[i]], w_key[i], new_version, w_payload[i])
        ON CONFLICT (part, gen, k) DO UPDATE SET ver = excluded.ver, v = excluded.v;
    END IF;
  END LOOP;
  FOR i IN 1..cardinality(l_at) LOOP
    next_entry[l_at[i]] := next_entry[l_at[i]] + 1;
    INSERT INTO kv_log VALUES (parts[l_at[i]], gens[l_at[i]], next_entry[l_at[i]], l_entry[i]);
  END LOOP;
  UPDATE kv_caller SET last = request, answer = packed, at = now() WHERE id = caller AND sealed = 0;
  IF NOT FOUND AND caller IS NOT NULL THEN
    RAISE EXCEPTION 'the caller is unknown or sealed' USING ERRCODE = 'FD001';
  END IF;
END $$;

-- Rows from lo to before hi, ascending or descending, up to `rows` rows, or the row that exceeds max_bytes.
-- A row with a null key: the part has another epoch than `must`. STABLE: the state of the calling statement.
CREATE FUNCTION kv_page(
  in_part bytea, must bigint, lo bytea, hi bytea, down boolean, rows bigint, max_bytes bigint
) RETURNS TABLE (key bytea, version bigint, payload bytea) LANGUAGE plpgsql STABLE AS $$
DECLARE g bigint; e bigint := 0; room bigint := max_bytes;
BEGIN
  SELECT gen, epoch INTO g, e FROM kv_part WHERE part = in_part;
  IF must <> coalesce(e, 0) THEN
    RETURN NEXT;
  ELSIF down THEN
    FOR key, version, payload IN
      SELECT k, ver, v FROM kv WHERE part = in_part AND gen = g AND k >= lo AND k < hi
        ORDER BY part DESC, gen DESC, k DESC LIMIT rows
    LOOP
      RETURN NEXT;
      room := room - octet_length(payload);
      EXIT WHEN room < 0;
    END LOOP;
  ELSE
    FOR key, version, payload IN
      SELECT k, ver, v FROM kv WHERE part = in_part AND gen = g AND k >= lo AND k < hi
        ORDER BY part, gen, k LIMIT rows
    LOOP
      RETURN NEXT;
      room := room - octet_length(payload);
      EXIT WHEN room < 0;
    END LOOP;
  END IF;
END $$;

CREATE FUNCTION kv_clear(in_part bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE g bigint;
BEGIN
  UPDATE kv_part SET gen = gen + 1, seq = 0, items = 0, bytes = 0 WHERE part = in_part RETURNING gen - 1 INTO g;
  IF FOUND THEN
    INSERT INTO kv_garbage VALUES (in_part, g);
  END IF;
END $$;

-- Deletes up to `rows` rows of a cleared generation, and the callers of the past. Returns whether more is left.
CREATE FUNCTION kv_sweep(rows bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE p bytea; g bigint; deleted bigint; entries bigint;
BEGIN
  DELETE FROM kv_caller WHERE at < now() - interval '1 day';
  SELECT part, gen INTO p, g FROM kv_garbage LIMIT 1;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM FROM kv_garbage WHERE part = p AND gen = g FOR UPDATE;
  IF NOT FOUND THEN
    RETURN true;  -- another sweeper was faster
  END IF;
  DELETE FROM kv WHERE part = p AND gen = g
    AND ctid = ANY (ARRAY (SELECT ctid FROM kv WHERE part = p AND gen = g LIMIT rows));
  GET DIAGNOSTICS deleted = ROW_COUNT;
  DELETE FROM kv_log WHERE part = p AND gen = g
    AND ctid = ANY (ARRAY (SELECT ctid FROM kv_log WHERE part = p AND gen = g LIMIT rows));
  GET DIAGNOSTICS entries = ROW_COUNT;
  IF deleted < rows AND entries < rows THEN
    DELETE FROM kv_garbage WHERE part = p AND gen = g;
  END IF;
  RETURN true;
END $$;
