use crate::check::{Check, Judge, Outcome};
use crate::evidence::ComparisonView;
use crate::same_work::unlike;
use crate::text::count;
use plumb_result::Remedy;

/// Number of paths named in the message.
const NAMED: usize = 4;

pub(crate) static CHECK: Check = Check {
    code: "D6",
    title: "Same workload",
    what: "Whether both sides did the same work: every phase, worker, size and policy, as run, without paths, devices \
           and seeds.",
    why: "A published comparison gave its tools different sizes and different flush rules, and drew one conclusion \
          from all of them (`audits/three-systems.toml`). Traeger, Zadok, Joukov and Wright, \"A Nine Year Study of \
          File System and Storage Benchmarking\", ACM Transactions on Storage 4(2), 2008: parameters often change \
          between the systems under comparison, or are not reported.",
    how: "The resolved workloads of all runs, leaf by leaf. If one side's storage cannot have a cache policy (a cold \
          cache in memory) and ran without it, that is noted: both sides were given the same workload.",
    threshold: "any difference fails",
    settled: "Nothing to settle: workloads are equal or not.",
    fix: &[Remedy::words(
        "Give both sides the same workload, with sizes in bytes, not as shares of memory or free space.",
    )],
    judges: &[Judge::Comparison(examine)],
};

fn examine(view: &ComparisonView<'_>) -> Outcome {
    let (ones, others) = (&view.baseline.record.works, &view.candidate.record.works);
    if ones.is_empty() || others.is_empty() {
        return Outcome::skipped("one side's workloads are not known");
    }
    let mut fitted = Vec::new();
    let mut different = Vec::new();
    for one in ones.iter().chain(others) {
        for other in ones.iter().chain(others).filter(|other| other.name == one.name) {
            let asked = unlike(&one.asked, &other.asked);
            for path in unlike(&one.run, &other.run) {
                let place = format!("{} in {path}", one.name);
                let is_fitted = path.ends_with(".cache") && asked.is_empty();
                let list = if is_fitted { &mut fitted } else { &mut different };
                if !list.contains(&place) {
                    list.push(place);
                }
            }
        }
    }
    for (here, there, side) in [(ones, others, &view.candidate), (others, ones, &view.baseline)] {
        for one in here.iter().filter(|one| !there.iter().any(|other| other.name == one.name)) {
            different.push(format!("{}, which {} never ran", one.name, side.name));
        }
    }
    if !different.is_empty() {
        let message = format!("The two sides did different work: {}.", listed(&different));
        return Outcome::fail(count(different.len() as u64, "difference"), message);
    }
    if !fitted.is_empty() {
        let message = format!("One side could not run the workload as given: {}.", listed(&fitted));
        return Outcome::note(count(fitted.len() as u64, "fitted policy"), message)
            .remedy("Choose a policy that both sides support, if there is one.");
    }
    Outcome::pass("all runs did the same work")
}

fn listed(places: &[String]) -> String {
    let mut text = places.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
    if places.len() > NAMED {
        text.push_str(&format!("; and {} more", places.len() - NAMED));
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Both, MIB, Scene};
    use crate::same_work::{WorkPrint, WorkQuestion, work_print};
    use plumb_result::Level;
    use plumb_workload::{CachePolicy, Workload};

    fn work(asked: &Workload, run: &Workload) -> WorkPrint {
        WorkPrint {
            name: "work".to_owned(),
            asked: work_print(asked, WorkQuestion::Sides),
            run: work_print(run, WorkQuestion::Sides),
        }
    }

    fn both(one: WorkPrint, other: WorkPrint) -> Both {
        Both::equal().with(|both| {
            both.records[0].works.push(one);
            both.records[1].works.push(other);
        })
    }

    fn plan() -> Workload {
        Scene::reading(MIB).workload
    }

    #[test]
    fn the_same_work_passes_and_other_sizes_fail() {
        assert_eq!(both(work(&plan(), &plan()), work(&plan(), &plan())).level("D6"), Some(Level::Pass));
        let larger = Scene::reading(2 * MIB).workload;
        let found = both(work(&plan(), &plan()), work(&larger, &larger)).judge().finding("D6").unwrap();
        assert_eq!(found.level, Level::Fail);
        assert!(found.message.contains("target.data.size"), "{}", found.message);
        // A size that depends on the memory is requested alike and run differently.
        assert_eq!(both(work(&plan(), &plan()), work(&plan(), &larger)).level("D6"), Some(Level::Fail));
    }

    #[test]
    fn a_policy_that_one_side_cannot_have_is_noted() {
        let mut warm = plan();
        warm.phase[0].cache = CachePolicy::AsIs;
        assert_eq!(both(work(&plan(), &plan()), work(&plan(), &warm)).level("D6"), Some(Level::Note));
        assert_eq!(both(work(&plan(), &plan()), work(&warm, &warm)).level("D6"), Some(Level::Fail));
    }

    #[test]
    fn work_that_one_side_never_did_fails_and_unknown_work_is_skipped() {
        let other = WorkPrint { name: "other".to_owned(), ..work(&plan(), &plan()) };
        assert_eq!(both(work(&plan(), &plan()), other).level("D6"), Some(Level::Fail));
        assert_eq!(Both::equal().level("D6"), Some(Level::Skipped));
    }
}
