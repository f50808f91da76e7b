-- What a place shows against itself: `plumb noise`.

CREATE TABLE noise (              -- plumb.noise/1, as printed, with what it holds for
  id TEXT PRIMARY KEY,            -- UUIDv7
  measured_at INTEGER NOT NULL,
  place TEXT NOT NULL,            -- absolute path, or the simulated device; several with commas
  environment TEXT NOT NULL,      -- the machine as it was: a floor holds where nothing that matters has changed
  targets TEXT NOT NULL,          -- the storage as it was, by the targets' names, for each work
  body TEXT NOT NULL
) STRICT;

CREATE TABLE noise_floor (        -- the smallest difference that can be claimed of one number
  noise_id TEXT NOT NULL REFERENCES noise ON DELETE CASCADE,
  workload TEXT NOT NULL, work_hash TEXT NOT NULL,  -- without seed, place and length of phases
  phase TEXT NOT NULL,
  metric TEXT NOT NULL REFERENCES metric,
  floor REAL NOT NULL, blocks INTEGER NOT NULL, cv REAL,
  body TEXT NOT NULL,             -- the floor as printed
  PRIMARY KEY (noise_id, workload, phase, metric)
) STRICT;

CREATE INDEX noise_by_place ON noise (place, measured_at);
