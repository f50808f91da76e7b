use crate::check::{Check, Judge, Outcome};
use crate::client::ClientTraffic;
use crate::evidence::{Ground, PhaseView};
use crate::not_seen::NotSeen;
use crate::plan;
use crate::shares::{CACHE_SHARE, DEVICE_SHARE, share};
use crate::text::{bytes, percent};
use plumb_result::{Level, Remedy};
use plumb_workload::{CachePolicy, ClockScope, Flush};

/// Above this share still in memory at the stop, the clock did not wait for the device.
const UNFLUSHED_SHARE: f64 = 1.0 - DEVICE_SHARE;
/// From this many writes of each block on, overwriting explains bytes that never reached the device.
const OVERWRITES: f64 = 2.0;

pub(crate) static CHECK: Check = Check {
    code: "A3",
    title: "Write not flushed",
    what: "Whether written data had reached the device when the clock stopped. Bytes still dirty at the stop fail: the \
           rate is that of filling memory. A phase that declares this (`end.flush = \"none\"` or `\"close\"`) writes \
           into the cache on purpose: it is noted, and its rate carries the tier `cache`. A flush outside the clock \
           declares nothing and fails like any other. Bytes that were flushed and still never reached the device, \
           because they were overwritten, removed or compressed in memory first, are durable but not the device's \
           rate: that warns, or is noted where the workload removes files by design. If hardly any byte reached the \
           device, it fails. On NFS and Lustre the server takes the device's place, and must also \
           have been told to commit what it received; whether its storage did is out of a client's sight.",
    why: "A buffered write returns once the data is in memory: 2.7 GB/s without one sector written, on a disk that \
          does 0.6 GB/s (measured on ext4 over virtio, Linux 6.18). `write_bytes` of /proc/self/io counts pages made \
          dirty and is no evidence. IOR on Lustre showed 146 GB/s until it read from another node and synced (2.7 \
          GB/s).",
    how: "Dirty and writeback pages of the files when the clock stopped (cachestat(2)); sectors that the leaf devices \
          wrote meanwhile (/proc/diskstats), mirrors counted once. On NFS: the dirty pages, bytes that the server was \
          sent (/proc/self/mountstats) and, where nothing flushed inside the clock, pages that it holds uncommitted \
          (/proc/meminfo, of the whole machine). On Lustre: `write_bytes` of `osc.*.stats`, and `unstable_stats`.",
    threshold: "more than 5 % of the bytes still in memory at the stop fails; flushed, but less than 95 % written by \
                the device, warns, and 5 % or less fails; declared writing into the cache is noted",
    settled: "By reasoning: the tier `device` begins at 95 %, which leaves 5 %. The rate is then at most 5.3 % too \
              high, about the margin within which comparisons treat two as equal. On simulated devices, unflushed \
              writes were found in 300 of 300 runs (docs/calibration.md).",
    fix: &[Remedy::setting("flush", "fsync", "Flush inside the clock")],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    let app = view.traffic.app_write;
    if app == 0 {
        return Outcome::NotApplicable;
    }
    match &view.ground {
        Ground::Nothing => return Outcome::NotApplicable,
        Ground::Memory => {
            return Outcome::note("no device below it", "This storage is memory: no write reaches a device.")
                .remedy("Name a path on the storage you want to measure.");
        }
        Ground::Remote => return over_network(view, &view.traffic.client),
        Ground::Unseen(reason) => return Outcome::skipped(reason.clone()),
        Ground::Device => {}
    }
    let dirty = view.dirty().map(|pages| (pages.dirty_bytes + pages.writeback_bytes).min(app));
    let written = view.traffic.written_to_device();
    let (dirty_share, written_share) = match (&dirty, &written) {
        (Err(dirty), Err(written)) => return Outcome::skipped(format!("{written}; {dirty}")),
        (dirty, written) => (
            dirty.as_ref().ok().and_then(|dirty| share(*dirty, app)),
            written.as_ref().ok().and_then(|written| share(*written, app)),
        ),
    };
    if let (Ok(dirty), Some(dirty_share)) = (&dirty, dirty_share)
        && dirty_share > UNFLUSHED_SHARE
    {
        let observed = format!("{} of {} in memory at the stop", bytes(*dirty), bytes(app));
        return unflushed(view, observed, format!("{} was still in memory when the clock stopped", bytes(*dirty)));
    }
    let Some(written_share) = written_share else {
        return match dirty_share {
            Some(dirty) => {
                Outcome::pass(format!("{} in memory at the stop; the devices' counters are not known", percent(dirty)))
            }
            None => Outcome::skipped("neither dirty pages nor the devices' counters are known"),
        };
    };
    let observed = format!("the device wrote {} of the bytes", percent(written_share));
    if written_share >= DEVICE_SHARE {
        return Outcome::pass(observed);
    }
    if dirty_share.is_none() && !flushed_inside(view) {
        let message = format!("the device wrote only {} of the bytes while the clock ran", percent(written_share));
        return unflushed(view, observed, message);
    }
    absorbed(view, written_share, observed)
}

/// Judges writes over a network, where the server takes the device's place. Its answer to a write does not show
/// whether the data is durable; that needs a commit. Source: RFC 8881, 18.32.3 (WRITE) and 18.3.3 (COMMIT).
fn over_network(view: &PhaseView<'_>, client: &Result<ClientTraffic, NotSeen>) -> Outcome {
    let app = view.traffic.app_write;
    let dirty = view.dirty().map(|pages| (pages.dirty_bytes + pages.writeback_bytes).min(app));
    if let Ok(dirty) = dirty
        && share(dirty, app).is_some_and(|share| share > UNFLUSHED_SHARE)
    {
        let observed = format!("{} of {} in this client's memory at the stop", bytes(dirty), bytes(app));
        let message = format!("{} was still in this client's memory when the clock stopped", bytes(dirty));
        return unflushed(view, observed, message);
    }
    let (client, sent) = match client.as_ref().map_err(NotSeen::clone).and_then(|it| Ok((it, it.of_writes(app)?))) {
        Ok(known) => known,
        Err(reason) => return Outcome::skipped(reason),
    };
    let sent_share = percent(sent.share);
    let commits = client.commits().map_or(String::new(), |commits| format!(" and {commits} COMMIT"));
    let observed = format!("{sent_share} of the bytes{commits} went to the server ({})", client.witness);
    if sent.share < DEVICE_SHARE {
        if dirty.is_err() && !flushed_inside(view) {
            let message = format!("only {sent_share} of the bytes were sent to the server while the clock ran");
            return unflushed(view, observed, message);
        }
        return absorbed(view, sent.share, observed);
    }
    // A flush waits until the server has committed; so does a write with O_DIRECT.
    let uncommitted = client.uncommitted_bytes().map_or(0, |uncommitted| uncommitted.min(app));
    let waited = flushed_inside(view) || plan::cache(view.plan) == CachePolicy::Direct;
    if !waited && share(uncommitted, app).is_some_and(|share| share > UNFLUSHED_SHARE) {
        let message =
            format!("{} was sent to the server, and not committed when the clock stopped", bytes(uncommitted));
        return unflushed(view, observed, message);
    }
    Outcome::pass(observed)
}

/// Returns `true` if everything written was flushed while the clock ran.
fn flushed_inside(view: &PhaseView<'_>) -> bool {
    let by_phase = view.measured.end.flush_ns.is_some() && view.measured.end.inside_clock;
    by_phase || (plan::has_jobs(view.plan) && plan::flushes_at_end(view.plan))
}

/// Returns `true` if the phase itself declares that its writes are not made durable. A flush after the clock
/// is not such a declaration.
fn declares_cache_writes(view: &PhaseView<'_>) -> bool {
    matches!(view.plan.end.flush, Flush::None | Flush::Close)
        && !plan::has_jobs(view.plan)
        && !plan::flushes_outside_clock(view.plan)
}

fn unflushed(view: &PhaseView<'_>, observed: String, message: String) -> Outcome {
    if declares_cache_writes(view) {
        return Outcome::note(observed, format!("The workload writes into the cache by design: {message}."));
    }
    let outcome = Outcome::fail(observed, format!("Not the {}'s write rate: {message}.", below(view)));
    if plan::sweeps(view.plan) {
        outcome.remedy(
            "Use `--direct`, or write much more than memory holds: elbencho's `--sync` comes after the clock. A native \
             workload can wait for the flush: `syncs = { at-end = true }`.",
        )
    } else if plan::has_jobs(view.plan) {
        outcome.remedy(
            "Time the flush too: `end_fsync=1` in a fio job, `syncs = { at-end = true }` in a native one. Or use \
             `direct=1`.",
        )
    } else if plan::flushes_outside_clock(view.plan) {
        outcome.remedy(
            "Time the flush too: `-e` in IOzone, a flush among the `steps` of a native program and not `after` them.",
        )
    } else if view.plan.end.clock == ClockScope::Outside {
        outcome.remedy(
            "Time the flush too (`end.clock = \"inside\"`), or declare that the cache is measured (`end.flush = \
             \"none\"`).",
        )
    } else {
        outcome
    }
}

/// Returns the name of the destination of written bytes.
fn below(view: &PhaseView<'_>) -> &'static str {
    if view.ground == Ground::Remote { "server" } else { "device" }
}

/// Judges a phase that left nothing in memory, although the device wrote less than the program did.
fn absorbed(view: &PhaseView<'_>, written_share: f64, observed: String) -> Outcome {
    let seen = format!("Only {} of the bytes written reached the {}", percent(written_share), below(view));
    if declares_cache_writes(view) {
        return Outcome::note(
            observed,
            format!("The workload writes into the cache by design: {}.", lower_first(&seen)),
        );
    }
    if view.may_shrink() {
        return Outcome::warn(observed, format!("{seen}: the file system compressed the rest."))
            .remedy("Write random content, or turn compression off.");
    }
    if plan::discards(view.plan) {
        return Outcome::note(observed, format!("{seen}: the rest was removed first, as this workload does."))
            .remedy("To measure durable writes, follow each write with fsync.");
    }
    if !flushed_inside(view) && plan::cache(view.plan) != CachePolicy::Direct {
        let level = if written_share <= CACHE_SHARE { Level::Fail } else { Level::Warn };
        let message = format!("{seen} while the clock ran, and no flush lay inside the clock.");
        return Outcome::found(level, observed, message).remedy(Remedy::setting(
            "flush",
            "fsync",
            "Time the flush too",
        ));
    }
    let overwritten = format!("{seen}: the rest was overwritten in memory first.");
    let way_out = "Write each block once (`pattern = \"permutation\"`), or use O_DIRECT, or a larger file.";
    // Many passes over few blocks need no other explanation.
    let passes = share(view.traffic.app_write, view.measured.working_set_bytes.unwrap_or(u64::MAX)).unwrap_or(0.0);
    if passes >= OVERWRITES {
        let level = if written_share <= CACHE_SHARE { Level::Fail } else { Level::Warn };
        return Outcome::found(level, observed, overwritten).remedy(way_out);
    }
    if written_share <= CACHE_SHARE {
        return Outcome::fail(
            observed,
            format!("{seen}, although they were flushed: memory or a layer that ignores flushes kept them."),
        )
        .remedy("Write each block once, or with O_DIRECT, and check A5 for flushes that have no effect.");
    }
    Outcome::warn(observed, overwritten).remedy(way_out)
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_workload::program::Step;
    use plumb_workload::{ClockScope, Flush};

    #[test]
    fn a_flushed_write_passes_and_an_unflushed_one_fails() {
        assert_eq!(Scene::writing(1000 * MIB).level("A3"), Some(Level::Pass));
        let finding = Scene::writing(1000 * MIB).dirty(1000 * MIB).device_write(0).finding("A3").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.contains("1000 MiB was still in memory when the clock stopped"), "{}", finding.message);
    }

    #[test]
    fn the_limit_of_dirty_pages_is_exclusive() {
        let scene = |dirty: u64| Scene::writing(1000 * MIB).dirty(dirty * MIB).level("A3");
        assert_eq!(scene(50), Some(Level::Pass));
        assert_eq!(scene(51), Some(Level::Fail));
    }

    #[test]
    fn writing_into_the_cache_by_declaration_is_a_note() {
        for flush in [Flush::None, Flush::Close] {
            let scene = Scene::writing(1000 * MIB).flush(flush).dirty(1000 * MIB).device_write(0);
            let finding = scene.finding("A3").unwrap();
            assert_eq!(finding.level, Level::Note);
            assert!(finding.message.contains("into the cache"), "{}", finding.message);
        }
    }

    /// A flush outside the clock declares nothing, whether the phase or a step of a program makes it.
    #[test]
    fn a_programs_flush_outside_its_clock_declares_nothing() {
        let flush = || Step::Fsync { handle: 0 };
        let level = |steps, after, dirty: u64| {
            let scene = Scene::writing(1000 * MIB).writer(steps, after).dirty(dirty * MIB);
            scene.device_write((1000 - dirty) * MIB).finding("A3").unwrap()
        };
        let behind = level(vec![], vec![flush()], 1000);
        assert_eq!(behind.level, Level::Fail);
        assert!(behind.remedy.contains("`-e` in IOzone"));
        assert_eq!(level(vec![], vec![Step::Sync {}], 1000).level, Level::Fail);
        assert_eq!(level(vec![], vec![Step::Close { handle: 0 }], 1000).level, Level::Note, "it never flushes");
        assert_eq!(level(vec![flush()], vec![flush()], 0).level, Level::Pass, "it flushed inside");
    }

    /// A job without `end_fsync` does not declare that it measures the cache.
    #[test]
    fn a_job_that_flushes_nothing_fails_with_advice_in_its_language() {
        let unflushed = |scene: Scene| scene.dirty(1000 * MIB).device_write(0);
        let finding = unflushed(Scene::writing(1000 * MIB).job(|_| {})).finding("A3").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.remedy.contains("end_fsync=1"), "{}", finding.remedy);
        let flushed = Scene::writing(1000 * MIB).job(|job| job.syncs.at_end = true);
        assert_eq!(flushed.level("A3"), Some(Level::Pass));
    }

    /// elbencho has no option for a flush inside the clock: fio's option would not help its users.
    #[test]
    fn a_sweep_that_flushes_nothing_gets_advice_for_elbencho() {
        let scene = Scene::writing(1000 * MIB).job(|_| {}).sweep();
        let finding = scene.dirty(1000 * MIB).device_write(0).finding("A3").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.remedy.contains("`--direct`"), "{}", finding.remedy);
        assert!(!finding.remedy.contains("end_fsync"), "{}", finding.remedy);
    }

    #[test]
    fn a_flush_outside_the_clock_declares_nothing() {
        let scene =
            Scene::writing(1000 * MIB).flush_clock(ClockScope::Outside).dirty(900 * MIB).device_write(100 * MIB);
        assert_eq!(scene.level("A3"), Some(Level::Fail));
    }

    /// Without cachestat the devices' counters must be enough.
    #[test]
    fn device_counters_alone_decide_where_dirty_pages_are_unseen() {
        let scene = |written: u64| {
            let scene = Scene::writing(1000 * MIB).flush_clock(ClockScope::Outside).unseen_files("no cachestat");
            scene.device_write(written * MIB).level("A3")
        };
        assert_eq!(scene(950), Some(Level::Pass));
        assert_eq!(scene(949), Some(Level::Fail));
    }

    #[test]
    fn overwriting_in_memory_warns_and_reaching_nothing_fails() {
        assert_eq!(Scene::writing(1000 * MIB).device_write(630 * MIB).level("A3"), Some(Level::Warn));
        assert_eq!(Scene::writing(1000 * MIB).device_write(50 * MIB).level("A3"), Some(Level::Fail));
    }

    /// 100 passes over one file, of which a flush writes the last.
    #[test]
    fn blocks_that_were_overwritten_in_memory_are_called_that() {
        let scene = |passes: u64| Scene::writing(1000 * MIB).working_set(1000 * MIB / passes).device_write(10 * MIB);
        let finding = scene(100).finding("A3").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.contains("overwritten in memory first"), "{}", finding.message);
        assert!(scene(1).finding("A3").unwrap().message.contains("although they were flushed"));
    }

    /// A flush after the clock proves nothing about the time inside it.
    #[test]
    fn bytes_that_were_flushed_outside_are_not_called_flushed() {
        let scene =
            |written: u64| Scene::writing(1000 * MIB).flush_clock(ClockScope::Outside).device_write(written * MIB);
        let nothing = scene(10).finding("A3").unwrap();
        assert_eq!(nothing.level, Level::Fail);
        assert!(nothing.message.contains("no flush lay inside the clock"), "{}", nothing.message);
        assert!(!nothing.message.contains("although they were flushed"), "{}", nothing.message);
        assert_eq!(scene(600).level("A3"), Some(Level::Warn));
        let inside = Scene::writing(1000 * MIB).device_write(10 * MIB).finding("A3").unwrap();
        assert!(inside.message.contains("although they were flushed"), "{}", inside.message);
    }

    /// A mirror writes every byte twice; half of it must not look like all of it.
    #[test]
    fn mirrors_count_once() {
        let scene = |written: u64| Scene::writing(1000 * MIB).unseen_files("no cachestat").mirror(written * MIB);
        assert_eq!(scene(1000).level("A3"), Some(Level::Pass));
        assert_eq!(scene(500).level("A3"), Some(Level::Warn));
    }

    /// On NFS, bytes that stay in the client or that the server holds uncommitted do not
    /// count towards the server's rate.
    #[test]
    fn on_a_network_file_system_it_must_be_sent_and_committed() {
        let wrote = || Scene::writing(1000 * MIB).nfs();
        assert_eq!(wrote().level("A3"), Some(Level::Pass));
        let observed = wrote().finding("A3").unwrap().observed;
        assert_eq!(observed, "100 % of the bytes and 1 COMMIT went to the server (/proc/self/mountstats)");
        let dirty = wrote().dirty(600 * MIB).server_write(400 * MIB).finding("A3").unwrap();
        assert_eq!(dirty.level, Level::Fail);
        assert!(dirty.message.contains("Not the server's write rate: 600 MiB was still in this client's memory"));
        let declared = wrote().flush(Flush::None).dirty(600 * MIB).server_write(400 * MIB);
        assert_eq!(declared.level("A3"), Some(Level::Note));
        let outside = || wrote().flush_clock(ClockScope::Outside);
        let uncommitted = outside().uncommitted(51 * MIB).finding("A3").unwrap();
        assert_eq!(uncommitted.level, Level::Fail);
        assert!(uncommitted.message.contains("was sent to the server, and not committed"), "{}", uncommitted.message);
        assert_eq!(outside().uncommitted(50 * MIB).level("A3"), Some(Level::Pass));
        assert_eq!(wrote().uncommitted(900 * MIB).level("A3"), Some(Level::Pass), "the flush waited for it");
        let unseen = outside().unseen_files("no cachestat").server_write(949 * MIB);
        assert_eq!(unseen.level("A3"), Some(Level::Fail), "the client's counters alone");
    }

    #[test]
    fn a_client_that_does_not_count_is_judged_by_its_dirty_pages_alone() {
        let wrote = || Scene::writing(1000 * MIB).remote().filesystem("cifs");
        assert_eq!(wrote().level("A3"), Some(Level::Skipped));
        assert_eq!(wrote().dirty(51 * MIB).level("A3"), Some(Level::Fail));
    }

    #[test]
    fn memory_is_noted_and_blindness_is_skipped() {
        assert_eq!(Scene::writing(MIB).in_memory().level("A3"), Some(Level::Note));
        assert_eq!(Scene::writing(MIB).unseen_devices("x").unseen_files("y").level("A3"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).level("A3"), None);
    }
}
