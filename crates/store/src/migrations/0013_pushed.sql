-- Which runs are in which shared database: `plumb push`. A run without a row here waits for the next push.

CREATE TABLE pushed (
  run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  destination TEXT NOT NULL,      -- host:port/database
  at INTEGER NOT NULL,            -- when this store learnt of it, ns since 1970
  PRIMARY KEY (run_id, destination)
) STRICT;
