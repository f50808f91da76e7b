-- Workloads that are repeated: rounds until figures are steady, and the loads of a ladder.

CREATE TABLE repeat (             -- plumb.rounds/1 or plumb.ladder/1, as printed
  id TEXT PRIMARY KEY,            -- UUIDv7
  made_at INTEGER NOT NULL,       -- when it was stored, ns since 1970
  kind TEXT NOT NULL CHECK (kind IN ('rounds', 'ladder')),
  tag TEXT,                       -- the tag of its runs
  body TEXT NOT NULL
) STRICT;
