//! The ops of a job, drawn as fio draws them.
