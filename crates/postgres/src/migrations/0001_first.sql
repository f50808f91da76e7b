-- The first schema. A migration is never edited once released: the next change is a new file.
-- Times: *_at are Unix nanoseconds UTC, *_ns are durations. Runs and their facts are partitioned by the month inside the
-- run's id, a UUIDv7: its first 48 bits are Unix milliseconds, and uuids compare bytewise.

SET LOCAL search_path = plumb, pg_catalog;

DO $$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['plumb_reader', 'plumb_writer'] LOOP
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
      EXCEPTION
        WHEN duplicate_object OR unique_violation THEN NULL;  -- another database of this server is being set up
        WHEN insufficient_privilege THEN
          RAISE EXCEPTION 'the role % does not exist, and % may not create roles', wanted, current_user
            USING HINT = 'An administrator creates both once: CREATE ROLE plumb_reader; CREATE ROLE plumb_writer;';
      END;
    END IF;
  END LOOP;
END
$$;

CREATE TABLE schema_version (
  version integer PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now(),
  program text NOT NULL           -- version of the Plumb that applied it
);

CREATE TABLE machine (            -- content-addressed: same hardware, same row
  id text PRIMARY KEY,            -- blake3 of facts
  hostname text, arch text, cpu text, cores integer, ram_bytes bigint, virt text,
  facts jsonb NOT NULL
);

CREATE TABLE environment (        -- content-addressed: everything that may change without new hardware
  id text PRIMARY KEY,
  machine_id text NOT NULL REFERENCES machine,
  os text, kernel text, kernel_cmdline text, libc text,
  facts jsonb NOT NULL
);

CREATE TABLE target (             -- content-addressed: the storage stack under a path, top to bottom
  id text PRIMARY KEY,
  environment_id text NOT NULL REFERENCES environment,
  path text, fs text, fs_uuid text, mkfs_facts jsonb, mount_options text, scheduler text,
  facts jsonb NOT NULL
);

CREATE TABLE metric (             -- the vocabulary: unit and direction, once
  name text PRIMARY KEY, unit text NOT NULL,
  better text NOT NULL CHECK (better IN ('higher', 'lower', 'none')),
  kind text, doc text
);

CREATE TABLE run (
  id uuid PRIMARY KEY,
  tool_name text NOT NULL, tool_version text NOT NULL,
  environment_id text REFERENCES environment,
  origin text NOT NULL CHECK (origin IN ('native', 'import')),
  dialect text, command text NOT NULL,
  name text NOT NULL, workload jsonb, workload_hash text,
  started_at bigint NOT NULL, wall_ns bigint,
  status text NOT NULL CHECK (status IN ('ok', 'failed', 'aborted')),
  reason text,
  verdict text CHECK (verdict IN ('pass', 'caution', 'reject', 'unknown')),
  note text,
  document jsonb NOT NULL,        -- plumb.result/1
  document_blake3 text NOT NULL CHECK (document_blake3 ~ '^[0-9a-f]{64}$'),  -- of the exact text, as the local store has it
  pushed_at timestamptz NOT NULL DEFAULT now(),
  pushed_by text NOT NULL DEFAULT session_user
) PARTITION BY RANGE (id);

CREATE TABLE run_tag (
  run_id uuid NOT NULL REFERENCES run ON DELETE CASCADE,
  tag text NOT NULL,
  PRIMARY KEY (run_id, tag)
) PARTITION BY RANGE (run_id);

CREATE TABLE run_target (         -- a workload may have several targets
  run_id uuid NOT NULL REFERENCES run ON DELETE CASCADE,
  name text NOT NULL,
  target_id text NOT NULL REFERENCES target,
  free_bytes bigint, fs_used_fraction double precision,
  PRIMARY KEY (run_id, name)
) PARTITION BY RANGE (run_id);

CREATE TABLE phase (
  run_id uuid NOT NULL REFERENCES run ON DELETE CASCADE,
  seq integer NOT NULL,           -- from 1; 0 stands for the whole run in the tables below
  name text NOT NULL,
  wall_ns bigint, steady integer, intervals bytea,
  PRIMARY KEY (run_id, seq)
) PARTITION BY RANGE (run_id);

CREATE TABLE value (              -- one number of one phase
  run_id uuid NOT NULL REFERENCES run ON DELETE CASCADE,
  phase integer NOT NULL,
  metric text NOT NULL,           -- no foreign key: a push would lock a row of the vocabulary for each number
  scope text NOT NULL,
  value double precision, lo double precision, hi double precision,  -- NULL is not measured; never 0
  source_tier text, device_share double precision,
  PRIMARY KEY (run_id, phase, metric, scope)
) PARTITION BY RANGE (run_id);

CREATE TABLE histogram (
  run_id uuid NOT NULL REFERENCES run ON DELETE CASCADE,
  phase integer NOT NULL, op text NOT NULL, scope text NOT NULL, kind text NOT NULL,
  hdr bytea NOT NULL,             -- HdrHistogram V2, uncompressed
  PRIMARY KEY (run_id, phase, op, scope, kind)
) PARTITION BY RANGE (run_id);

CREATE TABLE series (
  run_id uuid NOT NULL REFERENCES run ON DELETE CASCADE,
  phase integer NOT NULL, metric text NOT NULL, scope text NOT NULL, step_ns bigint,
  data bytea NOT NULL,            -- as in the local store
  PRIMARY KEY (run_id, phase, metric, scope)
) PARTITION BY RANGE (run_id);

CREATE TABLE lane (               -- what a device or the machine did in each interval of a phase
  run_id uuid NOT NULL REFERENCES run ON DELETE CASCADE,
  phase integer NOT NULL, device text NOT NULL, measure text NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (run_id, phase, device, measure)
) PARTITION BY RANGE (run_id);

CREATE TABLE latency_map (        -- how many ops of one kind took how long, over time
  run_id uuid NOT NULL REFERENCES run ON DELETE CASCADE,
  phase integer NOT NULL, op text NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (run_id, phase, op)
) PARTITION BY RANGE (run_id);

CREATE TABLE check_result (
  run_id uuid NOT NULL REFERENCES run ON DELETE CASCADE,
  seq integer NOT NULL, code text NOT NULL, level text NOT NULL, phase text,
  observed text, threshold text, message text, remedy text,
  PRIMARY KEY (run_id, seq)
) PARTITION BY RANGE (run_id);

CREATE INDEX run_by_start ON run (started_at);
CREATE INDEX run_by_environment ON run (environment_id);
CREATE INDEX run_tag_by_tag ON run_tag (tag, run_id);
CREATE INDEX value_by_metric ON value (metric, run_id);
CREATE INDEX check_by_code ON check_result (code, level);
CREATE INDEX machine_by_hostname ON machine (hostname);

-- Ids outside of all months: no UUIDv7, or dated before 2000.
CREATE TABLE run_other PARTITION OF run DEFAULT;
CREATE TABLE run_tag_other PARTITION OF run_tag DEFAULT;
CREATE TABLE run_target_other PARTITION OF run_target DEFAULT;
CREATE TABLE phase_other PARTITION OF phase DEFAULT;
CREATE TABLE value_other PARTITION OF value DEFAULT;
CREATE TABLE histogram_other PARTITION OF histogram DEFAULT;
CREATE TABLE series_other PARTITION OF series DEFAULT;
CREATE TABLE lane_other PARTITION OF lane DEFAULT;
CREATE TABLE latency_map_other PARTITION OF latency_map DEFAULT;
CREATE TABLE check_result_other PARTITION OF check_result DEFAULT;

-- Creates the partitions of the month that an id belongs to, and returns their suffix. It runs with the rights of the
-- schema's owner, so that a writer needs none to create tables. ATTACH, unlike PARTITION OF, locks out no reader.
CREATE FUNCTION ensure_month(run uuid) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  digits constant text := replace(run::text, '-', '');
  millis constant bigint := ('x' || lpad(left(digits, 12), 16, '0'))::bit(64)::bigint;
  month timestamp;
  suffix text;
  first uuid;
  beyond uuid;
  parent text;
BEGIN
  IF millis < 946684800000 OR substr(digits, 13, 1) <> '7' THEN
    RETURN 'other';
  END IF;
  IF millis > extract(epoch FROM now()) * 1000 + 2678400000 THEN
    RAISE EXCEPTION 'run % is dated more than a month ahead', run USING HINT = 'Check the clock of its host.';
  END IF;
  month := date_trunc('month', to_timestamp(millis / 1000) AT TIME ZONE 'UTC');
  suffix := to_char(month, 'YYYY_MM');
  IF to_regclass('plumb.run_' || suffix) IS NOT NULL THEN
    RETURN suffix;
  END IF;
  PERFORM pg_advisory_xact_lock(1347179853, 2);
  -- Another client may have created them meanwhile. to_regclass would answer from a cache that waiting for an advisory lock
  -- does not refresh; a query has a new snapshot.
  IF EXISTS (SELECT FROM pg_class WHERE relname = 'run_' || suffix AND relnamespace = 'plumb'::regnamespace) THEN
    RETURN suffix;
  END IF;
  first := (lpad(to_hex((extract(epoch FROM month) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  beyond := (lpad(to_hex((extract(epoch FROM month + interval '1 month') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  FOREACH parent IN ARRAY
    ARRAY['run', 'run_tag', 'run_target', 'phase', 'value', 'histogram', 'series', 'lane', 'latency_map', 'check_result']
  LOOP
    EXECUTE format('CREATE TABLE plumb.%I (LIKE plumb.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)',
                   parent || '_' || suffix, parent);
    EXECUTE format('ALTER TABLE plumb.%I ATTACH PARTITION plumb.%I FOR VALUES FROM (%L) TO (%L)',
                   parent, parent || '_' || suffix, first, beyond);
  END LOOP;
  RETURN suffix;
END
$$;

-- For people at psql: one row a number, with its unit and what it is worth.
CREATE VIEW result AS
  SELECT run.id AS run, to_timestamp(run.started_at / 1e9) AS started, machine.hostname AS host, run.name AS workload,
         run.status, run.verdict, phase.name AS phase, value.metric, value.scope, value.value,
         metric.unit, metric.better, value.source_tier AS tier, value.device_share
  FROM run
  LEFT JOIN environment ON environment.id = run.environment_id
  LEFT JOIN machine ON machine.id = environment.machine_id
  LEFT JOIN value ON value.run_id = run.id
  LEFT JOIN metric ON metric.name = value.metric
  LEFT JOIN phase ON phase.run_id = run.id AND phase.seq = value.phase;

REVOKE ALL ON FUNCTION ensure_month(uuid) FROM PUBLIC;
GRANT USAGE ON SCHEMA plumb TO plumb_reader, plumb_writer;
GRANT SELECT ON ALL TABLES IN SCHEMA plumb TO plumb_reader, plumb_writer;
GRANT INSERT ON machine, environment, target, metric, run, run_tag, run_target, phase, value, histogram, series,
  lane, latency_map, check_result TO plumb_writer;
GRANT EXECUTE ON FUNCTION ensure_month(uuid) TO plumb_writer;
