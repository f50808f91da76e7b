//! Numbers that may not have been measured.

/// A number, or the reason for its absence.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Figure<T> {
    Is(T),
    /// Switched off by the user (`disable_slat`), or nothing to measure.
    #[default]
    Off,
    /// Not measured, for this reason. Printed as 0 and listed in the job's `not_measured`.
    Unknown(String),
}

impl<T> Figure<T> {
    /// Returns the number, if there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Figure::Is(value) => Some(value),
            Figure::Off | Figure::Unknown(_) => None,
        }
    }
}

/// A number that is printed as 0 because it was not measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotMeasured {
    /// Its name in JSON, such as `read.slat_ns` or `ctx`.
    pub name: String,
    pub reason: String,
}
