-- A tier for what the server of a network file system answered. A CHECK cannot be changed, so the table is copied.

DROP VIEW result;
ALTER TABLE value RENAME TO value_without_server;

CREATE TABLE value (
  run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  phase INTEGER NOT NULL DEFAULT 0,       -- 0 is the whole run
  metric TEXT NOT NULL REFERENCES metric,
  scope TEXT NOT NULL DEFAULT 'all',      -- all | thread:3 | host:n1 | file:x
  value REAL, lo REAL, hi REAL,           -- NULL is not measured; never 0
  source_tier TEXT CHECK (source_tier IN ('device', 'server', 'cache', 'mixed', 'unknown')),
  device_share REAL,                      -- of the device, or of the server
  PRIMARY KEY (run_id, phase, metric, scope)
) STRICT;

INSERT INTO value (run_id, phase, metric, scope, value, lo, hi, source_tier, device_share)
  SELECT run_id, phase, metric, scope, value, lo, hi, source_tier, device_share FROM value_without_server;
DROP TABLE value_without_server;
CREATE INDEX value_by_metric ON value (metric, run_id);

-- As it was.
CREATE VIEW result AS
  SELECT run.id AS run, strftime('%Y-%m-%dT%H:%M:%SZ', run.started_at / 1000000000, 'unixepoch') AS started,
         run.name AS workload, run.status, run.verdict, phase.name AS phase, value.metric, value.scope, value.value,
         metric.unit, metric.better, value.source_tier AS tier, value.device_share
  FROM run
  LEFT JOIN value ON value.run_id = run.id
  LEFT JOIN metric ON metric.name = value.metric
  LEFT JOIN phase ON phase.run_id = run.id AND phase.seq = value.phase;
