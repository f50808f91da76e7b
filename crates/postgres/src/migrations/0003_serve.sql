-- What `plumb serve` needs: tokens, gates, and filters without scans of all runs.

SET LOCAL search_path = plumb, pg_catalog;

CREATE TABLE access_token (       -- the token itself is stored nowhere
  id text PRIMARY KEY,            -- the first characters of the hash, which name the token
  hash text NOT NULL UNIQUE,      -- blake3 of the token, in hex: a random token of 256 bits needs no slow hash
  name text NOT NULL,             -- what it is for, such as `ci`
  scope text NOT NULL CHECK (scope IN ('read', 'write')),
  made_at bigint NOT NULL,
  revoked_at bigint               -- NULL while it is valid
);

ALTER TABLE document DROP CONSTRAINT document_kind_check;
ALTER TABLE document ADD CONSTRAINT document_kind_check
  CHECK (kind IN ('comparison', 'sweep', 'repeat', 'conformance', 'study', 'gate'));

CREATE INDEX run_by_tool ON run ((coalesce(dialect, tool_name)), started_at);
CREATE INDEX run_target_by_target ON run_target (target_id);

-- Only the owner makes and revokes tokens: a writer who made one could let others write.
GRANT SELECT ON access_token TO plumb_reader, plumb_writer;
