//! What runs beside block I/O: [`auxiliary`].

pub(crate) mod auxiliary;
