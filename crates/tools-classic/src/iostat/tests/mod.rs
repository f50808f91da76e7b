//! Compares with the real iostat 12.6.1, run with the same counters in place of `/proc` and `/sys` (`golden/iostat`:
//! three samples, about one second apart, and its output).

mod goldens;
mod words;
