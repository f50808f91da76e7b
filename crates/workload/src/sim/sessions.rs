//! Faults that differ between sessions, as on a shared machine that is measured once a day.

/// Faults that differ between sessions. A session is a plot; a gate on history numbers sessions in order of time. All
/// shares are between 0 and 1.
#[derive(Debug, Clone, PartialEq)]
pub struct SimSessions {
    /// `session=3%`: coefficient of variation of the speed of sessions (log-normal, one draw per session).
    pub spread: f64,
    /// `session-tails`: these draws have heavy tails, as Student's t with 3 degrees of freedom.
    pub tails: bool,
    /// `session-memory=80%`: correlation between the draws of neighbouring sessions.
    pub memory: f64,
    /// `session-walk=1.5%`: each session's level moves by a random step of this size.
    pub walk: f64,
    /// `session-drift=0.5%`: each further session is slower by this share.
    pub drift: f64,
    /// `session-slow=20%`: share of sessions that are slow …
    pub slow: f64,
    /// `session-slow-by=25%`: … and how much slower they are.
    pub slow_by: f64,
    /// `session-switch=10%`: chance that a session changes to the other of two levels …
    pub switch: f64,
    /// `session-switch-by=10%`: … one of which is slower by this share.
    pub switch_by: f64,
}

impl SimSessions {
    /// Sessions that do not vary.
    pub const CALM: SimSessions = SimSessions {
        spread: 0.0,
        tails: false,
        memory: 0.0,
        walk: 0.0,
        drift: 0.0,
        slow: 0.0,
        slow_by: 0.25,
        switch: 0.0,
        switch_by: 0.1,
    };
}
