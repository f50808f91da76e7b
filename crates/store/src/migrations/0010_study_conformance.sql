-- What a run of a study tested where its outcome is conformance: `plumb posix` as a workload of a study.

ALTER TABLE study_run ADD COLUMN conformance_id TEXT REFERENCES conformance;
