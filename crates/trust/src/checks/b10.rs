use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::shares::share;
use crate::text::percent;
use plumb_result::Remedy;
use plumb_workload::{CachePolicy, OpKind, Prepare, Target};

/// Up to this share from the client's memory, a read came over the network.
const CACHED_SHARE: f64 = 0.02;
/// Up to this share of the files in the client's memory when the clock starts, the read started cold.
const RESIDENT_SHARE: f64 = 0.01;

pub(crate) static CHECK: Check = Check {
    code: "B10",
    title: "Read by the client that wrote",
    what: "Whether files of a network file system were read by the same client that wrote them in this run, so that \
           its own memory could answer. On local storage A1 and A2 apply instead.",
    why: "IOR on Lustre showed reads of 146 GB/s, which became 3.3 when each client read what another had written \
          (`-C`), and 2.7 with fsync (`-e`). A client keeps what it wrote, and the protocol lets it.",
    how: "Whether this run wrote what the phase reads (preparation or an earlier phase), its cache policy, and how \
          much of the files was resident in this client when the clock started. On NFS and Lustre the client's counters \
          decide (see A1): what the server sent did not come from this client's memory.",
    threshold: "where the client counts, up to 2 % from its memory passes; else reading `as-is` what this client wrote \
                warns; noted with `warm`; `cold` with at most 1 % resident, or `direct`, passes",
    settled: "By reasoning: 1 % resident as in A2, 2 % of the bytes as in A1.",
    fix: &[Remedy::words(
        "Read what another client wrote (rotate by one node), or use `cache = \"cold\"` or O_DIRECT.",
    )],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.ground != Ground::Remote || view.ops(OpKind::Read) == 0 {
        return Outcome::NotApplicable;
    }
    let Some(name) = view.target_names().into_iter().find(|name| written_here(view, name)) else {
        return Outcome::pass("this run did not write what it read");
    };
    let cached = view.traffic.client.as_ref().ok().and_then(|client| client.of_reads(view.traffic.app_read).ok());
    let cached = cached.map(|served| served.from_cache);
    if let Some(cached) = cached.filter(|cached| *cached <= CACHED_SHARE) {
        return Outcome::pass(format!("the server sent all but {} of it", percent(cached)));
    }
    let resident = view.resident().ok().and_then(|pages| share(pages.resident_bytes, pages.total_bytes));
    match (view.cache(), resident) {
        (CachePolicy::Direct, _) if cached.is_none() => Outcome::pass("read past this client's memory"),
        (CachePolicy::Cold, Some(resident)) if cached.is_none() && resident <= RESIDENT_SHARE => {
            Outcome::pass("none of it was in this client's memory")
        }
        (CachePolicy::Warm, _) => {
            Outcome::note("read warm", format!("This client read its own writes (`{name}`) from memory, as requested."))
        }
        (_, resident) => {
            let observed = match (cached, resident) {
                (Some(cached), _) => format!("{} from this client's memory", percent(cached)),
                (None, Some(resident)) => format!("{} of it resident in this client", percent(resident)),
                (None, None) => "how much was resident in this client is not known".to_owned(),
            };
            let answered = match cached {
                Some(cached) => format!("{} of it came from its memory", percent(cached)),
                None => "its memory may have answered".to_owned(),
            };
            let message = format!("This client read its own writes (`{name}`): {answered}.");
            Outcome::warn(observed, message)
        }
    }
}

/// Returns `true` if the run wrote the target before this phase read it, or in the same phase.
fn written_here(view: &PhaseView<'_>, name: &str) -> bool {
    let prepared = match view.workload.target.get(name) {
        Some(target @ (Target::File(_) | Target::Files(_))) => target.prepare() == Some(Prepare::Write),
        Some(Target::Tree(target)) => target.preallocated_percent > 0,
        Some(Target::SharedTree(target)) => target.preallocated_percent > 0,
        Some(Target::Recorded(target)) => target.prepare == Prepare::Write,
        Some(
            Target::Device(_)
            | Target::JobFiles(_)
            | Target::Scratch(_)
            | Target::Host(_)
            | Target::Null(_)
            | Target::Sim(_),
        )
        | None => false,
    };
    let wrote = |measured: &plumb_result::PhaseMeasurement| {
        let plan = view.workload.phase.iter().find(|plan| plan.name == measured.name);
        let meant = plan.is_some_and(|plan| plan.workers.iter().any(|group| group.target == name));
        meant && measured.ops.get(&OpKind::Write).is_some_and(|op| op.bytes > 0)
    };
    prepared || view.earlier.iter().any(wrote) || wrote(view.measured)
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_workload::{CachePolicy, Prepare};

    fn remote(policy: CachePolicy) -> Scene {
        Scene::reading(100 * MIB).remote().cache(policy)
    }

    #[test]
    fn reading_what_this_client_wrote_warns() {
        assert_eq!(remote(CachePolicy::AsIs).level("B10"), Some(Level::Warn));
        assert_eq!(remote(CachePolicy::Warm).level("B10"), Some(Level::Note));
        assert_eq!(remote(CachePolicy::Cold).resident(2 * MIB).level("B10"), Some(Level::Warn));
        assert_eq!(remote(CachePolicy::Cold).unseen_files("EPERM").level("B10"), Some(Level::Warn));
    }

    #[test]
    fn a_read_over_the_network_passes() {
        assert_eq!(remote(CachePolicy::Cold).level("B10"), Some(Level::Pass));
        assert_eq!(remote(CachePolicy::Direct).level("B10"), Some(Level::Pass));
        assert_eq!(remote(CachePolicy::AsIs).prepare(Prepare::Nothing).level("B10"), Some(Level::Pass));
    }

    /// Counters are better evidence than a record of writes: NFS drops its own writes when a file
    /// is reopened and has changed.
    #[test]
    fn the_clients_counters_decide() {
        let read = |policy, sent: u64| remote(policy).nfs().server_read(sent * MIB).finding("B10").unwrap();
        assert_eq!(read(CachePolicy::AsIs, 98).level, Level::Pass);
        let cached = read(CachePolicy::AsIs, 40);
        assert_eq!(cached.level, Level::Warn);
        assert!(cached.message.ends_with("60 % of it came from its memory."), "{}", cached.message);
        assert_eq!(read(CachePolicy::Cold, 40).level, Level::Warn, "nothing was resident, and yet");
        assert_eq!(read(CachePolicy::Direct, 40).level, Level::Warn);
        assert_eq!(read(CachePolicy::Warm, 0).level, Level::Note);
    }

    #[test]
    fn local_storage_is_exempt() {
        assert_eq!(Scene::reading(MIB).cache(CachePolicy::AsIs).level("B10"), None);
        assert_eq!(Scene::writing(MIB).remote().level("B10"), None);
    }
}
