-- What the network to other hosts can do: `plumb net`.

CREATE TABLE network (            -- plumb.net/1, as printed
  id TEXT PRIMARY KEY,            -- UUIDv7
  measured_at INTEGER NOT NULL,   -- when it began, ns since 1970
  host TEXT NOT NULL, port INTEGER NOT NULL,
  error TEXT,                     -- why nothing was measured
  idle_p50_ns INTEGER, idle_p99_ns INTEGER,
  receiving_p99_ns INTEGER, sending_p99_ns INTEGER,
  receive_bytes_per_second REAL, send_bytes_per_second REAL,
  jitter_ns REAL, loss REAL,      -- of the worse direction
  body TEXT NOT NULL
) STRICT;

CREATE INDEX network_by_host ON network (host, port, measured_at);
