-- What `plumb serve` needs: filters without scans of all runs, and who may read or write from other machines.

CREATE INDEX run_by_name ON run (name, started_at);
CREATE INDEX run_by_environment ON run (environment_id, started_at);
CREATE INDEX run_target_by_target ON run_target (target_id, run_id);
CREATE INDEX run_tag_by_tag ON run_tag (tag, run_id);

CREATE TABLE access_token (       -- the token itself is stored nowhere
  id TEXT PRIMARY KEY,            -- the first eight characters of the hash, which name the token
  hash TEXT NOT NULL UNIQUE,      -- blake3 of the token, in hex: a random token of 256 bits needs no slow hash
  name TEXT NOT NULL,             -- what it is for, such as `ci`
  scope TEXT NOT NULL CHECK (scope IN ('read', 'write')),
  made_at INTEGER NOT NULL,
  revoked_at INTEGER              -- NULL while it is valid
) STRICT;
