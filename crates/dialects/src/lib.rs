//! Other benchmarks' languages, spoken as they are: a job becomes a workload, a result becomes the text that the
//! benchmark's own readers expect.

pub mod fio;
