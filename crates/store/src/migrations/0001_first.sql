-- The first schema. A migration is never edited once released: the next change is a new file.
-- Times: *_at are Unix nanoseconds UTC, *_ns are durations. JSON columns hold canonical JSON (sorted keys).

CREATE TABLE machine (            -- content-addressed: same hardware, same row
  id TEXT PRIMARY KEY,            -- blake3 of facts
  hostname TEXT, arch TEXT, cpu TEXT, cores INTEGER, ram_bytes INTEGER, virt TEXT,
  facts TEXT NOT NULL
) STRICT;

CREATE TABLE environment (        -- content-addressed: everything that may change without new hardware
  id TEXT PRIMARY KEY,            -- blake3 of machine_id and facts
  machine_id TEXT NOT NULL REFERENCES machine,
  os TEXT, kernel TEXT, kernel_cmdline TEXT, libc TEXT,
  facts TEXT NOT NULL
) STRICT;

CREATE TABLE target (             -- content-addressed: the storage stack under a path, top to bottom
  id TEXT PRIMARY KEY,            -- blake3 of environment_id and facts
  environment_id TEXT NOT NULL REFERENCES environment,
  path TEXT, fs TEXT, fs_uuid TEXT, mkfs_facts TEXT, mount_options TEXT, scheduler TEXT,
  facts TEXT NOT NULL             -- without free space, which differs from run to run: see run_target
) STRICT;

CREATE TABLE tool (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL, version TEXT NOT NULL, git TEXT NOT NULL DEFAULT '', build TEXT NOT NULL DEFAULT '',
  UNIQUE (name, version, git, build)
) STRICT;

CREATE TABLE experiment (         -- a study
  id TEXT PRIMARY KEY,            -- UUIDv7
  name TEXT, question TEXT, spec TEXT NOT NULL, spec_hash TEXT NOT NULL,
  rng_seed INTEGER NOT NULL, planned_at INTEGER NOT NULL, author TEXT
) STRICT;

CREATE TABLE factor (
  experiment_id TEXT NOT NULL REFERENCES experiment ON DELETE CASCADE,
  name TEXT NOT NULL, hard INTEGER NOT NULL,
  PRIMARY KEY (experiment_id, name)
) STRICT;

CREATE TABLE cell (               -- one planned combination; stays even if never run
  id TEXT PRIMARY KEY,
  experiment_id TEXT NOT NULL REFERENCES experiment ON DELETE CASCADE,
  levels TEXT NOT NULL
) STRICT;

CREATE TABLE plot (               -- one provisioning: mkfs, RAID build, boot
  id TEXT PRIMARY KEY,
  experiment_id TEXT REFERENCES experiment ON DELETE CASCADE,
  block INTEGER, seq INTEGER, provision_log TEXT
) STRICT;

CREATE TABLE run (
  id TEXT PRIMARY KEY,            -- UUIDv7: sortable, merge-safe between hosts
  cell_id TEXT REFERENCES cell, plot_id TEXT REFERENCES plot, seq INTEGER,
  tool_id INTEGER NOT NULL REFERENCES tool,
  environment_id TEXT REFERENCES environment,
  origin TEXT NOT NULL CHECK (origin IN ('native', 'import')),
  dialect TEXT, command TEXT NOT NULL,
  name TEXT NOT NULL, workload TEXT, workload_hash TEXT,
  started_at INTEGER NOT NULL, wall_ns INTEGER,
  status TEXT NOT NULL CHECK (status IN ('planned', 'running', 'ok', 'failed', 'aborted', 'skipped')),
  reason TEXT,                    -- why it failed, was aborted or skipped
  verdict TEXT CHECK (verdict IN ('pass', 'caution', 'reject', 'unknown')),
  note TEXT,
  owner TEXT                      -- while running: JSON of the process that runs it
) STRICT;

CREATE TABLE run_tag (
  run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  tag TEXT NOT NULL,
  PRIMARY KEY (run_id, tag)
) STRICT;

CREATE TABLE run_target (         -- a workload may have several targets
  run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  name TEXT NOT NULL,
  target_id TEXT NOT NULL REFERENCES target,
  free_bytes INTEGER, fs_used_fraction REAL,
  PRIMARY KEY (run_id, name)
) STRICT;

CREATE TABLE phase (
  run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  seq INTEGER NOT NULL,           -- from 1; 0 stands for the whole run elsewhere
  name TEXT NOT NULL,
  wall_ns INTEGER,                -- NULL for a phase that was cut off
  steady INTEGER,                 -- 1 met, 0 not met, NULL not asked for
  intervals BLOB,                 -- when the points of this phase's series are: see docs/store.md
  PRIMARY KEY (run_id, seq)
) STRICT;

CREATE TABLE metric (             -- the vocabulary: unit and direction live here, once
  name TEXT PRIMARY KEY, unit TEXT NOT NULL,
  better TEXT NOT NULL CHECK (better IN ('higher', 'lower', 'none')),
  kind TEXT, doc TEXT
) STRICT;

CREATE TABLE value (
  run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  phase INTEGER NOT NULL DEFAULT 0,       -- 0 is the whole run
  metric TEXT NOT NULL REFERENCES metric,
  scope TEXT NOT NULL DEFAULT 'all',      -- all | thread:3 | host:n1 | file:x
  value REAL, lo REAL, hi REAL,           -- NULL is not measured; never 0
  source_tier TEXT CHECK (source_tier IN ('device', 'cache', 'mixed', 'unknown')),
  device_share REAL,
  PRIMARY KEY (run_id, phase, metric, scope)
) STRICT;

CREATE TABLE histogram (
  run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  phase INTEGER NOT NULL DEFAULT 0,
  op TEXT NOT NULL,                       -- '' for start-lag, which is of all ops
  scope TEXT NOT NULL DEFAULT 'all',
  kind TEXT NOT NULL CHECK (kind IN ('service', 'response', 'start-lag')),
  hdr BLOB NOT NULL,                      -- HdrHistogram V2, uncompressed
  PRIMARY KEY (run_id, phase, op, scope, kind)
) STRICT;

CREATE TABLE series (
  run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  phase INTEGER NOT NULL DEFAULT 0,
  metric TEXT NOT NULL REFERENCES metric,
  scope TEXT NOT NULL DEFAULT 'all',
  step_ns INTEGER,                        -- of the first point
  data BLOB NOT NULL,                     -- see docs/store.md; rates are stored as amounts per interval
  PRIMARY KEY (run_id, phase, metric, scope)
) STRICT;

CREATE TABLE heartbeat (          -- what a running run has measured so far; folded into series when it ends
  run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  phase INTEGER NOT NULL, phase_name TEXT NOT NULL,
  intervals TEXT NOT NULL,        -- JSON: the intervals that are new since the last heartbeat
  PRIMARY KEY (run_id, seq)
) STRICT;

CREATE TABLE check_result (       -- a check may speak once a phase
  run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  code TEXT NOT NULL,
  level TEXT NOT NULL CHECK (level IN ('pass', 'note', 'warn', 'fail', 'skipped')),
  phase TEXT,
  observed TEXT, threshold TEXT, message TEXT, remedy TEXT,
  PRIMARY KEY (run_id, seq)
) STRICT;

CREATE TABLE artifact (           -- result.json; later raw output of other tools
  run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  name TEXT NOT NULL, media_type TEXT NOT NULL, blake3 TEXT NOT NULL, body BLOB NOT NULL,
  PRIMARY KEY (run_id, name)
) STRICT;

CREATE TABLE comparison (         -- plumb.compare/1, as printed
  id TEXT PRIMARY KEY,
  made_at INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE conclusion (         -- what was claimed, by which method version, from which runs
  id TEXT PRIMARY KEY,
  comparison_id TEXT REFERENCES comparison ON DELETE CASCADE,
  experiment_id TEXT REFERENCES experiment ON DELETE CASCADE,
  made_at INTEGER NOT NULL, method TEXT NOT NULL,
  contrast TEXT NOT NULL,         -- JSON: phase, baseline, candidate, blocks
  metric TEXT NOT NULL REFERENCES metric,
  ratio REAL, lo REAL, hi REAL, p REAL, p_adjusted REAL,
  verdict TEXT NOT NULL, runs TEXT NOT NULL
) STRICT;

CREATE INDEX run_by_start ON run (started_at);
CREATE INDEX run_by_cell ON run (cell_id, seq);
CREATE INDEX value_by_metric ON value (metric, run_id);
CREATE INDEX check_by_code ON check_result (code, level);

-- For people at `plumb query`: one row a number, with its unit and what it is worth.
CREATE VIEW result AS
  SELECT run.id AS run, strftime('%Y-%m-%dT%H:%M:%SZ', run.started_at / 1000000000, 'unixepoch') AS started,
         run.name AS workload, run.status, run.verdict, phase.name AS phase, value.metric, value.scope, value.value,
         metric.unit, metric.better, value.source_tier AS tier, value.device_share
  FROM run
  LEFT JOIN value ON value.run_id = run.id
  LEFT JOIN metric ON metric.name = value.metric
  LEFT JOIN phase ON phase.run_id = run.id AND phase.seq = value.phase;
