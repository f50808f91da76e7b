//! Block I/O by a pattern.
