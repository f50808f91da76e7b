//! The command line from outside: the real program, on simulated devices and small files.

#[path = "../common/mod.rs"]
mod common;

mod audit;
mod bonnie;
mod commands;
mod compare;
mod dd;
mod dialect;
mod dialect_translate;
mod documents;
mod elbencho;
mod ends;
mod fio_fails;
mod fio_jobs;
mod fio_runs;
mod fio_verify;
mod flushes;
mod gate;
mod getc_putc;
mod ignored_signals;
mod import;
mod interrupted;
mod iostat;
mod iozone;
mod modes;
mod noise;
mod output;
mod pages;
mod postmark;
mod refused;
mod report;
mod simulated;
mod store;
mod stored_runs;
mod streams;
mod study;
mod study_check;
mod study_conduct;
mod study_question;
mod sweep;
mod try_storage;
mod unstored;
mod watch;
mod words;
mod zcav;
