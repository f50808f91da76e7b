//! The families of system calls that more than one kind of work makes, each once: mappings, the C library's streams, its
//! asynchronous I/O. Sources: mmap(2), stdio(3), aio(7).

pub(crate) mod aio;
pub(crate) mod mapping;
pub(crate) mod stream;
