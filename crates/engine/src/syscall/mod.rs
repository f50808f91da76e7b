//! System calls used by more than one kind of work: mappings, the C library's streams, and its
//! asynchronous I/O. Sources: mmap(2), stdio(3), aio(7).

pub(crate) mod aio;
pub(crate) mod mapping;
pub(crate) mod stream;
