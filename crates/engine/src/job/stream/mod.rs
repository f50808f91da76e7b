//! The ops of a job, drawn as fio draws them.
#![cfg_attr(not(test), expect(dead_code, reason = "the binding of jobs comes with their files"))]

mod choice;
mod cover;
mod curve;
mod draws;
mod general;
mod history;
mod machine;
mod plan;
mod script;
mod sizes;

pub use plan::{Handing, JobPlan, JobPlanError, JobPlanRequest};

use crate::source::blocks::BlockVisitor;

/// Makes the source of a plan and hands it to `visitor`.
pub fn with_job_source<V: BlockVisitor>(plan: &JobPlan, visitor: V) -> V::Out {
    visitor.visit(general::General::new(&plan.script))
}

#[cfg(test)]
mod tests;
