//! The files of a job: made, opened, looked after and left as its rules say.
