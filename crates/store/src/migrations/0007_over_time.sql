-- What reports draw over time and over levels: sweeps as printed, lanes of devices, latencies by time.

CREATE TABLE sweep (              -- plumb.sweep/1, as printed
  id TEXT PRIMARY KEY,            -- UUIDv7
  made_at INTEGER NOT NULL,
  tag TEXT,                       -- the tag of its runs
  body TEXT NOT NULL
) STRICT;

CREATE TABLE lane (               -- what a device or the machine did in each interval of a phase
  run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  phase INTEGER NOT NULL,
  device TEXT NOT NULL,           -- '' is the machine
  measure TEXT NOT NULL,          -- read_bytes, write_bytes, busy_ms, weighted_ms, cpu_permille, dirty_bytes
  data BLOB NOT NULL,             -- as series.data
  PRIMARY KEY (run_id, phase, device, measure)
) STRICT;

CREATE TABLE latency_map (        -- how many ops took how long, by time
  run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  phase INTEGER NOT NULL,
  op TEXT NOT NULL,
  data BLOB NOT NULL,             -- see docs/store.md
  PRIMARY KEY (run_id, phase, op)
) STRICT;
