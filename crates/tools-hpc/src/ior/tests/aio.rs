//! Tests of `-a AIO`: its options, and their workloads.

use super::*;
use plumb_workload::program::Moves;

fn ignored(line: &str) -> Vec<(String, &'static str)> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match read(&words, None, &mut |_| Ok(String::new())).unwrap() {
        Invocation::Run(_, ignored) => ignored,
        Invocation::Help => panic!("{line} asks for help"),
    }
}

fn transfers(lowered: &Lowered) -> Vec<Transfer> {
    let moves = |step: Step| if let Step::Transfer(transfer) = step { Some(transfer) } else { None };
    (0..lowered.workload.phase.len()).filter_map(|phase| steps(lowered, phase, 0).into_iter().find_map(moves)).collect()
}

// Protects the queue to the kernel: IOR's defaults and options give depth and batch size of every phase. Everything
// else equals POSIX.
#[test]
fn aio_lowers_to_kernel_requests() {
    let line = "-w -W -r -e -G 3 --posix.odirect -z --randomPrefill=512k --plumb-ranks 2";
    let aio = lowered(&format!("-a aio {line}"));
    let vias: Vec<Via> = transfers(&aio).iter().map(|transfer| transfer.via).collect();
    assert_eq!(vias, [Via::KernelAio { depth: 128, batch: 16 }; 4], "prefill, write, write-check, read");
    let changed = lowered("-a AIO --aio.max-pending=32 -O aio.granularity=8 -w");
    assert_eq!(transfers(&changed)[0].via, Via::KernelAio { depth: 32, batch: 8 });
    let keys: Vec<&str> = steps(&aio, 1, 1).iter().map(Step::key).collect();
    assert_eq!(keys, ["open", "transfer", "fsync", "close"]);
    let mut posix = lowered(&format!("-a POSIX {line}")).workload;
    for group in posix.phase.iter_mut().flat_map(|phase| &mut phase.workers) {
        let Work::Program(program) = &mut group.work else { panic!("a program") };
        for step in &mut program.steps {
            if let Step::Transfer(transfer) = step {
                transfer.via = Via::KernelAio { depth: 128, batch: 16 };
            }
        }
    }
    assert_eq!(aio.workload, posix);
    let each = &transfers(&lowered("-a AIO -w -Y"))[0];
    assert!(each.flushes && each.does == Moves::Write);
    let dry = lowered("-a AIO --dryRun -w");
    assert!(matches!(dry.workload.target["files"], Target::Null(_)));
}

// Protects from values on which IOR exits, hangs or crashes, and from options that have silently no effect.
#[test]
fn invalid_limits_of_requests_are_refused() {
    for (line, message) in [
        ("--aio.max-pending=7", "--aio.max-pending: `7` is too few; use 8 or more"),
        ("--aio.max-pending=40000", "use 32768 or less"),
        ("--aio.max-pending=-1", "is negative"),
        ("--aio.max-pending=8", "--aio.granularity: `16` exceeds --aio.max-pending, 8; use 8 or less"),
        ("--aio.granularity=129", "exceeds --aio.max-pending, 128"),
        ("--aio.granularity=0", "use 1 or more"),
        ("--aio.granularity=-3", "is negative"),
        ("-c", "-c needs MPI-IO"),
    ] {
        let found = error_of(&format!("-a AIO {line}"));
        assert!(found.contains(message), "{line}: {found}");
    }
    let least = AioOptions { max_pending: 8, granularity: 8 };
    assert_eq!(test("-a AIO --aio.max-pending=8 --aio.granularity=8").api, Api::Aio(least));
    assert_eq!(ignored("--aio.max-pending=4"), [("--aio.max-pending".to_owned(), "it belongs to -a AIO")]);
    assert_eq!(ignored("-a AIO --aio.max-pending=9 --aio.granularity=9"), []);
    assert!(help().contains("--aio.max-pending=128") && help().contains("--aio.granularity=16"));
}
