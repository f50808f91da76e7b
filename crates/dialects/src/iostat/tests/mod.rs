//! The same counters give the same text as the real iostat 12.6.1, which was given them in place of `/proc` and `/sys`
//! (`golden/iostat`: three looks, one second or so apart, and what it printed).

mod goldens;
mod words;
