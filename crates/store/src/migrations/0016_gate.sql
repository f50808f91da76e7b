-- Answers of `plumb gate`, over time.

CREATE TABLE gate (               -- plumb.gate/1, as printed
  id TEXT PRIMARY KEY,            -- UUIDv7
  made_at INTEGER NOT NULL,       -- when it was stored, ns since 1970
  answer TEXT NOT NULL CHECK (answer IN ('pass', 'regression', 'cannot tell', 'suspected')),
  body TEXT NOT NULL
) STRICT;

CREATE INDEX gate_by_time ON gate (made_at);
