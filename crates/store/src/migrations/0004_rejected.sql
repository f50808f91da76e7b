-- Runs of studies that checks rejected and that were made again: what they were stays, beside what the repetition gave.

CREATE TABLE study_rejected (
  study_id TEXT NOT NULL REFERENCES study ON DELETE CASCADE,
  seq INTEGER NOT NULL,           -- as in the plan, from 0
  attempt INTEGER NOT NULL,       -- which attempt it was, from 1
  reason TEXT,                    -- why it was rejected
  run_id TEXT REFERENCES run ON DELETE SET NULL,
  PRIMARY KEY (study_id, seq, attempt)
) STRICT;

CREATE INDEX study_rejected_by_run ON study_rejected (run_id);
