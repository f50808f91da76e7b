-- Marks that people put on runs, and which documents are in which shared database.

CREATE TABLE mark (
  id TEXT PRIMARY KEY,            -- UUIDv7
  run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('retraction', 'reinstatement', 'note')),
  reason TEXT NOT NULL,           -- of a note its text
  at INTEGER NOT NULL,
  author TEXT NOT NULL
) STRICT;

CREATE INDEX mark_by_run ON mark (run_id);

CREATE TABLE pushed_document (    -- a document without a row here waits for the next push
  kind TEXT NOT NULL,             -- the table of the document
  document_id TEXT NOT NULL,
  destination TEXT NOT NULL,      -- host:port/database
  at INTEGER NOT NULL,            -- when this store learnt of it, ns since 1970
  PRIMARY KEY (kind, document_id, destination)
) STRICT;
