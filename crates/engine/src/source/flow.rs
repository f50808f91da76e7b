//! Programs over file sets.
