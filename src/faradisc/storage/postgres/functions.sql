-- The functions, which every newer release replaces: names and parameters never change their meaning, because
-- older servers go on to call them.

-- What only stores of several places need. A part that has, or begins to have, its rows at another place has a
-- negative generation here, and its slot (the first 5 bytes of its name) a row in kv_moved: state 1 while it is
-- copied from here (its changed keys are in kv_changed), 2 when it is not here. `fence`: who copies it to here.
CREATE TABLE IF NOT EXISTS kv_moved (slot bytea PRIMARY KEY, state bigint NOT NULL, fence bigint NOT NULL);
CREATE TABLE IF NOT EXISTS kv_changed (part bytea, k bytea, PRIMARY KEY (part, k));

-- At home, which is place 0: the places, and where the parts are whose names have a prefix of 4 bytes. `places`:
-- numbers, a byte each; several divide the slots. `target`: where they are being moved to. `before`: where they were.
CREATE TABLE IF NOT EXISTS kv_place (number bigint PRIMARY KEY, address bytea NOT NULL, drained bigint NOT NULL);
-- `done`: how much is copied, of 1,000. `moved`: when that was asked for, equal for all that are moved together, or
-- when it ended.
CREATE TABLE IF NOT EXISTS kv_placement (
  prefix bytea PRIMARY KEY, places bytea NOT NULL, target bytea, before bytea, done bigint NOT NULL DEFAULT 0,
  moved timestamptz NOT NULL
);

-- Creates the row of a part. Returns whether the part may be here.
CREATE OR REPLACE FUNCTION kv_create_part(in_part bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE moving bigint;
BEGIN
  SELECT state INTO moving FROM kv_moved WHERE slot = substr(in_part, 1, 5) FOR SHARE;
  IF moving = 2 THEN
    RETURN false;
  END IF;
  INSERT INTO kv_part (part, gen) VALUES (in_part, CASE WHEN moving = 1 THEN -1 ELSE 1 END) ON CONFLICT DO NOTHING;
  RETURN true;
END $$;

CREATE OR REPLACE FUNCTION kv_moved_state(in_part bytea) RETURNS bigint LANGUAGE sql STABLE AS
  'SELECT coalesce((SELECT state FROM kv_moved WHERE slot = substr(in_part, 1, 5)), 0)';

-- Whether what the calling statement sees of a part has every commit that was answered before: 0 yes; 1 perhaps not,
-- a commit has just ended; 2 no, a commit is prepared, so it may have been answered; 3 nobody has used the part; 4 it
-- is at another place. Who replaces a row version, or locks it, leaves its number in xmax. It is harmless when it
-- ended before the oldest transaction of the statement's state began; or when it is not prepared, and is still under
-- way afterwards, because then it was not prepared before either. No part's row is ever deleted.
CREATE OR REPLACE FUNCTION kv_state(in_part bytea) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE g bigint; x xid; newest bigint := pg_snapshot_xmax(pg_current_snapshot())::text::bigint; after bigint;
BEGIN
  SELECT gen, xmax INTO g, x FROM kv_part WHERE part = in_part;
  IF g IS NULL OR g < 0 THEN
    IF kv_moved_state(in_part) = 2 THEN
      RETURN 4;
    ELSIF g IS NULL THEN
      RETURN 3;
    END IF;
  END IF;
  IF age(x) > age(pg_snapshot_xmin(pg_current_snapshot())::xid) THEN
    RETURN 0;
  END IF;
  IF EXISTS (SELECT FROM pg_prepared_xact() WHERE transaction = x) THEN
    RETURN 2;
  END IF;
  -- Numbers of rows have 32 bits. One from `newest` on began after the statement.
  after := (x::text::bigint - newest) & 4294967295;
  IF after < 2147483648 OR pg_xact_status((newest + after - 4294967296)::text::xid8) = 'in progress' THEN
    RETURN 0;
  END IF;
  RETURN 1;
END $$;

-- outcome: 0 committed, 1 conflict (`found` is the version), 2 another epoch, 3 a part is at another place. Only 0
-- changes anything. Every commit updates the rows of its parts, also to leave no lock in xmax (kv_state).

-- One key of one part. `wanted`: the version it must have, null for any; `payload` null deletes.
CREATE OR REPLACE FUNCTION kv_commit_one(
  caller bytea, request bigint, in_part bytea, must bigint, key bytea, wanted bigint, payload bytea,
  entries bytea[], d_items bigint, d_bytes bigint,
  OUT outcome bigint, OUT found_version bigint, OUT sequence bigint
) LANGUAGE plpgsql AS $$
DECLARE
  g bigint; e bigint;
  n bigint := coalesce(cardinality(entries), 0);
  moving bigint := 0;
BEGIN
  LOOP
    UPDATE kv_part SET seq = seq + n, items = items + d_items, bytes = bytes + d_bytes
      WHERE part = in_part RETURNING gen, seq, epoch INTO g, sequence, e;
    EXIT WHEN FOUND;
    IF NOT kv_create_part(in_part) THEN
      outcome := 3;
      RETURN;
    END IF;
  END LOOP;
  IF g < 0 THEN
    moving := kv_moved_state(in_part);
    g := -g;
  END IF;
  outcome := CASE WHEN moving = 2 THEN 3 WHEN must <> e THEN 2 ELSE 0 END;
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
    IF n > 0 OR d_items <> 0 OR d_bytes <> 0 THEN
      UPDATE kv_part SET seq = seq - n, items = items - d_items, bytes = bytes - d_bytes WHERE part = in_part;
    END IF;
    RETURN;
  END IF;
  IF moving = 1 THEN
    INSERT INTO kv_changed VALUES (in_part, key) ON CONFLICT DO NOTHING;
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
-- part of a commit whose decision is elsewhere (sharded.py, places.py).
CREATE OR REPLACE FUNCTION kv_commit(
  caller bytea, request bigint, parts bytea[], musts bigint[], fences bigint[], counts bigint[],
  d_items bigint[], d_bytes bigint[], c_at bigint[], c_key bytea[], c_version bigint[],
  w_at bigint[], w_key bytea[], w_payload bytea[], l_at bigint[], l_entry bytea[],
  OUT outcome bigint, OUT at_check bigint, OUT found_version bigint, OUT sequences bigint[]
) LANGUAGE plpgsql AS $$
DECLARE
  g bigint; s bigint; e bigint; gens bigint[]; locked bigint := 0; moving bigint; copied boolean[];
  next_entry bigint[];
  new_version bigint; packed bytea := '';
BEGIN
  outcome := 0;
  FOR i IN 1..cardinality(parts) LOOP
    LOOP
      UPDATE kv_part SET seq = seq + counts[i], items = items + d_items[i], bytes = bytes + d_bytes[i]
        WHERE part = parts[i] RETURNING gen, seq, epoch INTO g, s, e;
      EXIT WHEN FOUND;
      IF NOT kv_create_part(parts[i]) THEN
        outcome := 3;
        EXIT;
      END IF;
    END LOOP;
    EXIT WHEN outcome = 3;
    locked := i;
    moving := CASE WHEN g < 0 THEN kv_moved_state(parts[i]) ELSE 0 END;
    copied[i] := moving = 1;
    gens[i] := abs(g);
    sequences[i] := s;
    outcome := CASE WHEN moving = 2 THEN 3 WHEN musts[i] <> e THEN 2 ELSE 0 END;
    EXIT WHEN outcome <> 0;
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
      IF counts[i] > 0 OR d_items[i] <> 0 OR d_bytes[i] <> 0 THEN
        UPDATE kv_part SET seq = seq - counts[i], items = items - d_items[i], bytes = bytes - d_bytes[i]
          WHERE part = parts[i];
      END IF;
    END LOOP;
    RETURN;
  END IF;
  FOR i IN 1..locked LOOP
    IF fences[i] IS NOT NULL THEN
      e := fences[i];  -- Citus 13.2 crashes at SET epoch = fences[i]
      UPDATE kv_part SET epoch = e WHERE part = parts[i];
    END IF;
    next_entry[i] := sequences[i] - counts[i];
    packed := packed || int8send(sequences[i]);
  END LOOP;
  IF cardinality(w_at) > 0 THEN
    new_version := nextval('kv_version');
  END IF;
  FOR i IN 1..cardinality(w_at) LOOP
    IF copied[w_at[i]] THEN
      INSERT INTO kv_changed VALUES (parts[w_at[i]], w_key[i]) ON CONFLICT DO NOTHING;
    END IF;
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
-- A row with a null key: the part has another epoch than `must`, or the version is the part's state, which is above
-- `accepted`. STABLE: the state of the calling statement.
CREATE OR REPLACE FUNCTION kv_page(
  in_part bytea, must bigint, lo bytea, hi bytea, down boolean, rows bigint, max_bytes bigint,
  accepted bigint DEFAULT NULL
) RETURNS TABLE (key bytea, version bigint, payload bytea) LANGUAGE plpgsql STABLE AS $$
DECLARE g bigint; e bigint := 0; room bigint := max_bytes;
BEGIN
  IF accepted IS NOT NULL THEN
    version := kv_state(in_part);
    IF version > accepted THEN
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;
  SELECT abs(gen), epoch INTO g, e FROM kv_part WHERE part = in_part;
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

CREATE OR REPLACE FUNCTION kv_clear(in_part bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE g bigint;
BEGIN
  UPDATE kv_part SET gen = gen + sign(gen)::bigint, seq = 0, items = 0, bytes = 0
    WHERE part = in_part RETURNING gen INTO g;
  IF (g IS NULL OR g < 0) AND kv_moved_state(in_part) = 2 THEN
    RAISE EXCEPTION 'the part is at another place' USING ERRCODE = 'FD002';
  ELSIF g IS NOT NULL THEN
    INSERT INTO kv_garbage VALUES (in_part, abs(g) - 1);
  END IF;
END $$;

-- Deletes up to `rows` rows of a cleared generation. Returns whether more is left.
CREATE OR REPLACE FUNCTION kv_sweep(rows bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE p bytea; g bigint; deleted bigint; entries bigint;
BEGIN
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
