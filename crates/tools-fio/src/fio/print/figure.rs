//! A figure that may not have been measured.

/// A number, or why there is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Figure<T> {
    /// Measured.
    Is(T),
    /// Switched off by the user (`disable_slat`), or there was nothing to measure.
    #[default]
    Off,
    /// Not measured, for this reason. Printed as 0, and named in the job's `not_measured`.
    Unknown(String),
}

impl<T> Figure<T> {
    /// The number, where there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Figure::Is(value) => Some(value),
            Figure::Off | Figure::Unknown(_) => None,
        }
    }
}

/// A number that is 0 because it was not measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotMeasured {
    /// Its name in JSON, `read.slat_ns`, `ctx`.
    pub name: String,
    /// Why not.
    pub reason: String,
}
