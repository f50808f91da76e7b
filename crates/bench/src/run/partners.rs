//! The processes that make every run together with this one.

use super::mode::{Alone, Hosts, Mode, Ranks};
use crate::ranks::{AgentPolicy, Division, JoinedRanks};
use plumb_workload::Workload;
use std::rc::Rc;

#[derive(Default)]
pub struct Partners {
    /// All ranks; `None` if this process is alone.
    pub ranks: Option<Rc<JoinedRanks>>,
    /// The permissions that an agent grants to its coordinator.
    pub policy: Option<AgentPolicy>,
    /// The part of a workload that each rank runs.
    pub division: Division,
    /// The workload of each host, if each has its own and this process only leads them; a request is
    /// then the sum of all.
    pub apart: Option<Rc<[Workload]>>,
}

impl Partners {
    /// Returns the hosts that this process leads without measuring itself.
    pub(super) fn led(&self) -> Option<Rc<JoinedRanks>> {
        self.ranks.clone().filter(|ranks| ranks.leads_only())
    }

    /// Returns the mode of the next run.
    pub(super) fn mode(&self) -> Box<dyn Mode> {
        match self.ranks.clone() {
            None => Box::new(Alone),
            Some(ranks) if ranks.leads_only() => {
                Box::new(Hosts { ranks, division: self.division, apart: self.apart.clone() })
            }
            Some(ranks) => Box::new(Ranks { ranks, division: self.division }),
        }
    }
}
