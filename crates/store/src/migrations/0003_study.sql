-- Studies: the frozen plan, and how far each of its runs has come. A study's runs that have a result are rows of `run` too.

CREATE TABLE study (
  id TEXT PRIMARY KEY,            -- UUIDv7
  name TEXT NOT NULL,
  plan_hash TEXT NOT NULL,
  plan TEXT NOT NULL,             -- plumb.study-plan/1, frozen
  file TEXT NOT NULL,             -- absolute path of the study file
  text TEXT NOT NULL,             -- what was in it
  options TEXT NOT NULL,          -- JSON: what the command line added
  created_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'done')),
  owner TEXT                      -- while it is conducted: JSON of the process that does
) STRICT;

CREATE TABLE study_plot (
  study_id TEXT NOT NULL REFERENCES study ON DELETE CASCADE,
  seq INTEGER NOT NULL,           -- as in the plan, from 0
  state TEXT NOT NULL CHECK (state IN ('planned', 'running', 'done', 'failed')),
  builds INTEGER NOT NULL DEFAULT 0,  -- how often it was built; more than once where it was cut
  reason TEXT,                    -- why it failed, or was built again
  build_s REAL,                   -- seconds that the last build took
  PRIMARY KEY (study_id, seq)
) STRICT;

CREATE TABLE study_run (
  study_id TEXT NOT NULL REFERENCES study ON DELETE CASCADE,
  seq INTEGER NOT NULL,           -- as in the plan, from 0
  plot INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('planned', 'running', 'done', 'rejected', 'failed', 'skipped')),
  attempts INTEGER NOT NULL DEFAULT 0,
  losses INTEGER NOT NULL DEFAULT 0,  -- attempts in which the host was lost
  build INTEGER,                  -- on which build of its plot it ran
  reason TEXT,                    -- why it failed or was rejected; why it is to be run again
  exit_code INTEGER,
  run_id TEXT REFERENCES run ON DELETE SET NULL,
  devices TEXT,                   -- JSON: what each block device did meanwhile
  seconds REAL,                   -- how long it took, its preparation included
  PRIMARY KEY (study_id, seq)
) STRICT;

CREATE INDEX study_by_time ON study (created_at);
CREATE INDEX study_run_by_run ON study_run (run_id);
