-- Documents about several runs, marks on runs, and the lookup of runs by the end of their id.

SET LOCAL search_path = plumb, pg_catalog;

CREATE TABLE document (
  kind text NOT NULL CHECK (kind IN ('comparison', 'sweep', 'repeat', 'conformance', 'study')),
  id uuid NOT NULL,
  made_at bigint NOT NULL,
  tag text,                       -- the tag of its runs
  runs uuid[] NOT NULL,           -- of a study also those that were rejected and repeated
  body jsonb NOT NULL,            -- as printed; of a study its plan, runs and plots
  body_blake3 text NOT NULL CHECK (body_blake3 ~ '^[0-9a-f]{64}$'),  -- of the exact text
  pushed_at timestamptz NOT NULL DEFAULT now(),
  pushed_by text NOT NULL DEFAULT session_user,
  PRIMARY KEY (kind, id)
);

CREATE TABLE mark (               -- what people say of a run after it ended
  id uuid PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES run ON DELETE CASCADE,
  kind text NOT NULL CHECK (kind IN ('retraction', 'reinstatement', 'note')),
  reason text NOT NULL,           -- of a note its text
  at bigint NOT NULL,
  author text NOT NULL,
  pushed_at timestamptz NOT NULL DEFAULT now(),
  pushed_by text NOT NULL DEFAULT session_user
);

CREATE INDEX mark_by_run ON mark (run_id);
CREATE INDEX document_by_time ON document (kind, made_at);
CREATE INDEX document_by_run ON document USING gin (runs);
CREATE INDEX run_by_end_of_id ON run (reverse(id::text) text_pattern_ops);
CREATE INDEX run_by_name ON run (name, started_at);

GRANT SELECT ON document, mark TO plumb_reader, plumb_writer;
GRANT INSERT ON document, mark TO plumb_writer;
