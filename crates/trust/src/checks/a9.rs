use crate::check::{Check, Judge, Outcome};
use crate::compressibility;
use crate::evidence::{Ground, PhaseView};
use crate::plan;
use crate::shares::share;
use crate::text::percent;
use plumb_result::Remedy;
use plumb_workload::{Content, OpKind, Target};

/// If less than this share of written and flushed bytes reached the device, something below shrank the data.
const WRITTEN_SHARE: f64 = 0.90;
/// Above this share of compressed extents, a read moves fewer bytes than it returns.
const ENCODED_SHARE: f64 = 0.10;

pub(crate) static CHECK: Check = Check {
    code: "A9",
    title: "Compressible data",
    what: "Whether something below could shrink the data: content that compresses or repeats, over a file system, \
           volume or drive that compresses or deduplicates. A stated ratio (`reducible`) is a choice and only noted. \
           So is compressible content where nothing below is known to compress, since drives and hypervisors may do so \
           unseen.",
    why: "Zeros cost such storage nothing: the rate is that of its compressor, which can be many times that of the \
          medium. Drives with SandForce controllers were sold on such numbers. Traeger et al., \"A Nine Year Study of \
          File System and Storage Benchmarking\", ACM TOS 2008, ask authors to state the content; Tarasov et al., \
          \"Generating Realistic Datasets for Deduplication Analysis\", USENIX ATC 2012, show how much depends on it.",
    how: "The workload's content against mount options (`compress=`), zfs, VDO and zram below; extents stored encoded \
          (FIEMAP); and, where each byte was written once and flushed inside the clock, what the devices wrote.",
    threshold: "constant content over compressing storage, more than 10 % of a file stored compressed, or less than 90 \
                % of flushed constant content written, warns",
    settled: "By reasoning: a file system writes metadata as well, so at least 100 % of flushed data reaches the \
              devices; 90 % leaves room for counters read a moment apart. Encoded extents: 10 % as in A1.",
    fix: &[
        Remedy::setting("content", "random", "Write random content"),
        Remedy::words("State your data's ratio (`content.reducible`)."),
    ],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.is_at_rest() {
        let compressor = view.target_names().into_iter().find_map(|name| view.compressor(name));
        let Some(compressor) = compressor else { return Outcome::NotApplicable };
        let message = format!("The storage compresses ({compressor}): rates depend on the content.");
        return Outcome::note(compressor, message);
    }
    if view.traffic.app_read + view.traffic.app_write == 0 || !has_content(view) {
        return Outcome::NotApplicable;
    }
    let compressed_in_memory = view.target_names().into_iter().any(|name| view.compressor(name).is_some());
    match &view.ground {
        Ground::Nothing => return Outcome::NotApplicable,
        Ground::Memory if !compressed_in_memory => return Outcome::NotApplicable,
        Ground::Memory | Ground::Device | Ground::Remote | Ground::Unseen(_) => {}
    }
    if let Some(encoded) = view.encoded_share().filter(|encoded| *encoded > ENCODED_SHARE) {
        return Outcome::warn(
            format!("{} stored compressed", percent(encoded)),
            format!(
                "{} of the file is stored compressed: the device moves fewer bytes than it seems.",
                percent(encoded)
            ),
        );
    }
    let compressible =
        || view.target_names().into_iter().map(|name| (name, compressibility::content(view.workload, name)));
    let constant = compressible().find(|(_, content)| is_constant(*content));
    let stated = compressible().find(|(_, content)| matches!(content, Content::Reducible { .. }));
    let Some((name, content)) = constant.or(stated) else { return Outcome::pass("the content is random") };
    if let Some(compressor) = view.compressor(name) {
        let observed = format!("{} over {compressor}", word(content));
        return if is_constant(content) {
            Outcome::warn(
                observed,
                format!("The content ({}) compresses, and so does the storage ({compressor}).", word(content)),
            )
        } else {
            let message =
                format!("The content is {}, as requested, and the storage compresses ({compressor}).", word(content));
            Outcome::note(observed, message).remedy("State the ratio with the number.")
        };
    }
    match &view.ground {
        Ground::Remote => return Outcome::skipped("a client cannot see what a server does with the content"),
        Ground::Unseen(reason) => return Outcome::skipped(reason.clone()),
        Ground::Device | Ground::Memory | Ground::Nothing => {}
    }
    let written = written_once_and_flushed(view)
        .then(|| view.traffic.written_to_device().ok())
        .flatten()
        .and_then(|written| share(written, view.traffic.app_write));
    match written {
        Some(written) if written < WRITTEN_SHARE && is_constant(content) => Outcome::warn(
            format!("{} of it written", percent(written)),
            format!(
                "Only {} of the flushed bytes reached the device: something below compresses {}.",
                percent(written),
                word(content)
            ),
        ),
        Some(written) if written < WRITTEN_SHARE => Outcome::note(
            format!("{} of it written", percent(written)),
            format!(
                "Only {} of the flushed bytes reached the device; the content is {}.",
                percent(written),
                word(content)
            ),
        )
        .remedy("State the ratio with the number."),
        _ if is_constant(content) => Outcome::note(
            word(content),
            format!("The content is {}, which drives and hypervisors may compress unseen.", word(content)),
        ),
        _ => Outcome::pass(word(content)),
    }
}

/// Returns `true` if any target has content.
fn has_content(view: &PhaseView<'_>) -> bool {
    let mut targets = view.target_names().into_iter().filter_map(|name| view.workload.target.get(name));
    targets.any(|target| !matches!(target, Target::Null(_) | Target::Sim(_)))
}

fn is_constant(content: Content) -> bool {
    matches!(content, Content::Zero | Content::Byte(_))
}

fn word(content: Content) -> String {
    match content {
        Content::Random => "random".to_owned(),
        Content::Zero => "zeros".to_owned(),
        Content::Byte(_) => "one byte repeated".to_owned(),
        Content::Reducible { compress_percent, duplicate_percent } => {
            format!("{compress_percent} % compressible with {duplicate_percent} % duplicates")
        }
    }
}

/// Returns `true` if nothing was overwritten or removed in memory, so that missing device writes mean compression.
fn written_once_and_flushed(view: &PhaseView<'_>) -> bool {
    let once = view.plan.workers.iter().all(|group| group.work.covers_once()) && !plan::discards(view.plan);
    let within = view.measured.working_set_bytes.is_some_and(|set| view.traffic.app_write <= set);
    let by_phase = view.measured.end.inside_clock && view.measured.end.flush_ns.is_some();
    let flushed = plan::flushes_at_end(view.plan) && (by_phase || plan::has_jobs(view.plan));
    view.ops(OpKind::Write) > 0 && once && within && flushed
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_workload::Content;

    const STATED: Content = Content::Reducible { compress_percent: 50, duplicate_percent: 0 };

    #[test]
    fn zeros_over_compression_warn_and_random_content_passes() {
        let over = |content: Content| {
            Scene::writing(1000 * MIB).filesystem("btrfs").mount_option("compress=zstd:3").content(content)
        };
        let finding = over(Content::Zero).finding("A9").unwrap();
        assert_eq!(finding.level, Level::Warn);
        assert!(finding.message.contains("compress=zstd:3"), "{}", finding.message);
        assert_eq!(over(Content::Byte(7)).level("A9"), Some(Level::Warn));
        assert_eq!(over(Content::Random).level("A9"), Some(Level::Pass));
    }

    #[test]
    fn at_rest_compression_is_predicted() {
        let btrfs = || Scene::writing(MIB).filesystem("btrfs").at_rest();
        let finding = btrfs().mount_option("compress=zstd:3").finding("A9").unwrap();
        assert_eq!(finding.level, Level::Note);
        assert!(finding.message.contains("compress=zstd:3"), "{}", finding.message);
        assert_eq!(btrfs().level("A9"), None);
    }

    /// A stated ratio is the user's choice.
    #[test]
    fn a_stated_ratio_is_noted() {
        let scene = Scene::writing(1000 * MIB).filesystem("btrfs").mount_option("compress=zstd:3").content(STATED);
        assert_eq!(scene.level("A9"), Some(Level::Note));
        assert_eq!(Scene::writing(1000 * MIB).content(STATED).level("A9"), Some(Level::Pass));
    }

    /// A drive or a hypervisor that compresses is only visible in the bytes written.
    #[test]
    fn compression_shows_in_the_bytes_written() {
        let zeros = |written: u64| Scene::writing(1000 * MIB).content(Content::Zero).device_write(written * MIB);
        assert_eq!(zeros(899).level("A9"), Some(Level::Warn));
        assert_eq!(zeros(900).level("A9"), Some(Level::Note), "it may still be compressed out of sight");
        // Overwriting in memory is A3's finding.
        assert_eq!(zeros(500).working_set(500 * MIB).level("A9"), Some(Level::Note));
    }

    #[test]
    fn a_file_that_is_stored_compressed_is_read_in_fewer_bytes() {
        let scene = |share: u64| Scene::reading(1000 * MIB).encoded(share * 10 * MIB);
        assert_eq!(scene(11).level("A9"), Some(Level::Warn));
        assert_eq!(scene(10).level("A9"), Some(Level::Pass));
    }

    #[test]
    fn memory_and_simulations_have_no_content_to_compress() {
        assert_eq!(Scene::writing(MIB).in_memory().content(Content::Zero).level("A9"), None);
        assert_eq!(Scene::writing(MIB).on_simulated_target("sim:ssd").level("A9"), None);
        assert_eq!(Scene::stats(10).level("A9"), None);
    }

    #[test]
    fn a_server_is_not_seen() {
        assert_eq!(Scene::writing(MIB).remote().content(Content::Zero).level("A9"), Some(Level::Skipped));
    }
}
