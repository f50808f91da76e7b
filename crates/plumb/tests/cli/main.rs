//! The command line from outside: the real program, on simulated devices and small files.

#[path = "../common/mod.rs"]
mod common;

mod audit;
mod commands;
mod compare;
mod dialect;
mod dialect_translate;
mod documents;
mod elbencho;
mod ends;
mod fio_jobs;
mod fio_runs;
mod interrupted;
mod noise;
mod pages;
mod refused;
mod store;
mod sweep;
