//! Whether a job has come to a steady state, as fio's language asks for it.
