//! What a job writes, how it is stamped, and how it is read back.
