//! Settings that exclude each other, or need another one.

use super::ElbenchoUsageError;
use super::settings::{Action, ElbenchoSettings, Phases, Rwmix};
use plumb_workload::files::RecordLock;

/// Checks the settings that the action uses.
pub(super) fn check(settings: &ElbenchoSettings, errors: &mut Vec<ElbenchoUsageError>) {
    match settings.action {
        Action::Run | Action::DryRun => together(settings, errors),
        Action::Service | Action::ServiceInForeground => as_service(settings, errors),
        Action::Interrupt | Action::Quit if !settings.hosts.are_given() => {
            errors.push(ElbenchoUsageError::Together(
                "--interrupt and --quit need --hosts, which names the services".to_owned(),
            ));
        }
        _ => {}
    }
}

/// Checks options that a service cannot have. Like elbencho, it ignores options that a service does not need.
fn as_service(settings: &ElbenchoSettings, errors: &mut Vec<ElbenchoUsageError>) {
    let mut say = |text: &str| errors.push(ElbenchoUsageError::Together(text.to_owned()));
    if settings.hosts.are_given() {
        say("--service and --hosts cannot be combined: a service waits for a command that names it in --hosts");
    }
    if settings.hosts.real.secret_file.is_some() {
        say(
            "--svcpwfile is for clients of real elbencho services; this service has keys: `plumb agent --init DIR` makes \
             them, and PLUMB_AGENT_KEYS names them",
        );
    }
    if !settings.paths.is_empty() {
        say("--service takes no benchmark path: give it to the command with --hosts; PLUMB_AGENT_ALLOW lists the \
             paths that a service may use");
    }
}

/// Checks options that need data which services do not send.
fn over_hosts(settings: &ElbenchoSettings, say: &mut dyn FnMut(&str)) {
    if settings.output.ops_log.is_some() {
        say("--opslog cannot be combined with --hosts: services do not log ops");
    }
    if settings.output.live_csv.is_some() {
        say("--livecsv cannot be combined with --hosts: services report only when a phase ends");
    }
}

/// Checks options that exclude each other, or need another one.
fn together(settings: &ElbenchoSettings, errors: &mut Vec<ElbenchoUsageError>) {
    let mut say = |text: &str| errors.push(ElbenchoUsageError::Together(text.to_owned()));
    let phases = settings.phases;
    if settings.hosts.are_given() {
        over_hosts(settings, &mut say);
    }
    if settings.paths.is_empty() {
        say("no benchmark path given; name directories, files or block devices after the options");
    }
    if u32::from(settings.order.rand) + u32::from(settings.order.strided) + u32::from(settings.order.backward) > 1 {
        say("--rand, --strided and --backward cannot be combined; use one of them");
    }
    if settings.ops.iodepth > 1 && settings.ops.mmap {
        say("--mmap does one op at a time; remove --iodepth");
    }
    if settings.ops.iodepth > 1 && (settings.content.verify_direct || settings.content.read_inline) {
        say("--verifydirect and --readinline do one op at a time; remove --iodepth");
    }
    if settings.content.verify > 0 && matches!(settings.mix.rwmix, Rwmix::Percent(_)) {
        say("--verify and --rwmixpct cannot be combined; use one of them");
    }
    if settings.content.verify > 0 && phases.write && settings.order.rand {
        say("--verify needs every block written, and --rand may skip some; write sequentially");
    }
    if settings.content.verify_direct && (settings.content.verify == 0 || !phases.write) {
        say("--verifydirect needs --verify SALT and --write");
    }
    if settings.content.verify > i64::MAX as u64 {
        say("--verify does not support salts above 9223372036854775807 yet; use a smaller salt");
    }
    if settings.content.verify > 0 && !settings.ops.block.is_multiple_of(8) {
        say("--verify needs blocks that are a multiple of 8 bytes; use another --block");
    }
    if settings.content.verify > 0 && settings.order.rand && settings.order.rand_unaligned && !settings.ops.direct {
        say("--verify needs offsets that are a multiple of 8 bytes; remove --norandalign");
    }
    if settings.calls.lock == Some(RecordLock::WholeFile) && settings.ops.iodepth > 1 && phases.write {
        say("--flock full allows one op per file at a time; use --flock range, or remove --iodepth");
    }
    if settings.mix.balance.is_some() && !matches!(settings.mix.rwmix, Rwmix::Threads(_)) {
        say("--rwmixthrpct needs --rwmixthr, the number of threads that read");
    }
    if settings.mix.balance.is_some() && (settings.mix.limit_read > 0 || settings.mix.limit_write > 0) {
        say("--rwmixthrpct cannot be combined with --limitread or --limitwrite; use one of them");
    }
    if settings.schedule.infinite && settings.phases == Phases::default() {
        say("--infloop needs a phase to repeat, such as --read");
    }
    if settings.content.read_inline && settings.content.verify > 0 {
        say("--readinline does not check what it reads; use --verifydirect with --verify");
    }
}
