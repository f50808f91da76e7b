-- How file systems conform: `plumb posix`.

CREATE TABLE conformance (        -- plumb.posix/1, as printed
  id TEXT PRIMARY KEY,            -- UUIDv7
  tested_at INTEGER NOT NULL,     -- when it was stored
  path TEXT NOT NULL, filesystem TEXT NOT NULL, kernel TEXT NOT NULL,
  user TEXT NOT NULL,             -- root, a plain user, root of a user namespace
  level TEXT NOT NULL,
  failures INTEGER NOT NULL,      -- cases that count at this level
  passed INTEGER NOT NULL, skipped INTEGER NOT NULL,
  seconds REAL NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE conformance_case (
  conformance_id TEXT NOT NULL REFERENCES conformance ON DELETE CASCADE,
  name TEXT NOT NULL,             -- such as rename.dots
  level TEXT NOT NULL CHECK (level IN ('SHALL', 'LINUX', 'COMMON')),
  outcome TEXT NOT NULL,          -- as in plumb.posix/1
  expected TEXT, got TEXT, reason TEXT,
  PRIMARY KEY (conformance_id, name)
) STRICT;
