//! Tests of layout and of cache preparation on real file systems.

use super::*;
use crate::guard::Permissions;
use crate::guard::testing::{LoopDevice, Mounted, is_root, once_released, skipped};
use crate::write_guard;
use plumb_workload::{Bytes, Content, Size};
use std::fs;

const SIZE: u64 = 10 * (1 << 20) + 4321;

struct Bench {
    base: tempfile::TempDir,
    dir: TestDir,
    guard: Guard,
    stop: StopFlag,
}

impl Bench {
    /// Uses the source tree's file system, which is more often a real one than /tmp.
    fn new() -> Bench {
        Bench::on(Path::new(env!("CARGO_MANIFEST_DIR")))
    }

    fn on(path: &Path) -> Bench {
        let base = tempfile::tempdir_in(path).unwrap();
        let dir = TestDir::create(base.path(), "prepare").unwrap();
        Bench { base, dir, guard: write_guard(Permissions::none()), stop: StopFlag::detached() }
    }

    fn open(&self, target: &Target, size_bytes: Option<u64>, access: Access) -> Result<TargetFiles, PrepareError> {
        let mut progress_reports = vec![];
        let result = open_target(
            target,
            size_bytes,
            &mut LayoutRequest {
                guard: &self.guard,
                dir: &self.dir,
                access,
                phase_writes_bytes: 0,
                stop: self.stop,
                fill: &mut content,
                progress: &mut |progress| progress_reports.push(progress),
            },
        );
        if let (Ok(files), Some(last)) = (&result, progress_reports.last()) {
            assert_eq!((last.written_bytes, last.total_bytes), (files.total_bytes(), files.total_bytes()));
        }
        result
    }
}

/// Fills `buffer` so that every byte identifies its file and, modulo 256, its position.
fn content(buffer: &mut [u8], file: u32, offset: u64) {
    for (at, byte) in (offset..).zip(buffer) {
        *byte = (at / 4096 + u64::from(file) * 17 + 1) as u8;
    }
}

fn file(path: impl Into<PathBuf>, prepare: Prepare) -> Target {
    Target::File(FileTarget { path: path.into(), size: None, prepare, content: Content::Zero })
}

fn extents_of(files: &TargetFiles) -> Extents {
    *files.extents().as_result().expect("seen")
}

#[test]
fn written_files_hold_their_content_and_no_holes() {
    let bench = Bench::new();
    let target = Target::Files(FilesTarget {
        path: "data/file".into(),
        count: 3,
        size: Size::Bytes(Bytes(SIZE)),
        prepare: Prepare::Write,
        content: Content::Zero,
    });
    let files = bench.open(&target, Some(SIZE), Access::ReadWrite).unwrap();
    assert_eq!(files.len(), 3);
    let found = extents_of(&files);
    assert_eq!((found.total_bytes, found.hole_bytes, found.unwritten_bytes), (3 * SIZE, 0, 0));
    for (number, file) in files.iter().enumerate() {
        assert_eq!(file.path(), bench.dir.path().join(format!("data/file.{number}")));
        let mut expected = vec![0; SIZE as usize];
        content(&mut expected, number as u32, 0);
        assert!(fs::read(file.path()).unwrap() == expected, "file {number}");
    }
}

#[test]
fn allocated_sparse_and_empty_files_have_the_expected_extents() {
    let bench = Bench::new();
    let sparse = bench.open(&file("sparse", Prepare::Sparse), Some(1 << 40), Access::Read).unwrap();
    assert_eq!(extents_of(&sparse).hole_bytes, 1 << 40, "larger than the free space");
    let nothing = bench.open(&file("nothing", Prepare::Nothing), None, Access::ReadWrite).unwrap();
    assert_eq!(nothing.total_bytes(), 0);
    match bench.open(&file("allocated", Prepare::Allocate), Some(SIZE), Access::ReadWrite) {
        Ok(allocated) => assert_eq!(extents_of(&allocated).unwritten_bytes, SIZE),
        Err(error) => {
            assert!(error.to_string().contains("prepare = \"write\""), "{error}");
            skipped("this file system does not support fallocate");
        }
    }
    let unsized_file = bench.open(&file("unsized", Prepare::Write), None, Access::ReadWrite);
    assert!(matches!(unsized_file, Err(PrepareError::NoSize { .. })));
}

#[test]
fn read_only_targets_need_no_guard_and_are_not_changed() {
    let bench = Bench::new();
    let path = bench.base.path().join("precious");
    fs::write(&path, "precious").unwrap();
    let target = file(&path, Prepare::Write);
    let files = bench.open(&target, None, Access::Read).unwrap();
    assert_eq!(files.total_bytes(), 8);
    assert_eq!(files.files[0].access(), Access::Read);
    assert!(files.files[0].file().write_at(b"x", 0).is_err());
    assert_eq!(bench.open(&target, Some(3), Access::Read).unwrap().total_bytes(), 3);
    assert!(matches!(bench.open(&target, Some(9), Access::Read), Err(PrepareError::TooShort { .. })));
    let refused = bench.open(&target, Some(8), Access::ReadWrite).unwrap_err();
    assert!(matches!(refused, PrepareError::Refused(Refusal::ExistingFile { .. })), "{refused:?}");
    assert_eq!(refused.exit_code(), 5);
    files.remove().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn oversized_layouts_are_refused_before_the_first_byte() {
    let bench = Bench::new();
    let huge = bench.open(&file("huge", Prepare::Write), Some(1 << 50), Access::ReadWrite).unwrap_err();
    assert!(matches!(huge, PrepareError::Refused(Refusal::Space { .. })), "{huge:?}");
    assert!(!bench.dir.path().join("huge").exists());
    let space = crate::guard::space::Space::read(&bench.dir).unwrap().unwrap();
    let many = Target::Files(FilesTarget {
        path: "many".into(),
        count: 4,
        size: Size::Bytes(Bytes(0)),
        prepare: Prepare::Allocate,
        content: Content::Zero,
    });
    let each = space.headroom_bytes() / 2;
    let refused = bench.open(&many, Some(each), Access::ReadWrite).unwrap_err();
    assert!(
        matches!(refused, PrepareError::Refused(Refusal::Space { .. })),
        "each fits alone, but not all together: {refused:?}"
    );
}

#[test]
fn a_stopped_layout_removes_its_files() {
    let bench = Bench::new();
    let path = bench.base.path().join("elsewhere");
    let mut writes = 0;
    let result = open_target(
        &file(&path, Prepare::Write),
        Some(64 << 20),
        &mut LayoutRequest {
            guard: &bench.guard,
            dir: &bench.dir,
            access: Access::ReadWrite,
            phase_writes_bytes: 0,
            stop: bench.stop,
            fill: &mut |_, _, _| {},
            progress: &mut |_| {
                writes += 1;
                bench.stop.request();
            },
        },
    );
    let error = result.unwrap_err();
    assert!(matches!(error, PrepareError::Stopped { signal: Some(StopSignal::Program) }), "{error:?}");
    assert_eq!((writes, error.exit_code()), (1, 130));
    assert!(!path.exists());
}

#[test]
fn a_file_elsewhere_is_removed_when_the_run_is_done() {
    let bench = Bench::new();
    let path = bench.base.path().join("elsewhere");
    let files = bench.open(&file(&path, Prepare::Write), Some(4096), Access::ReadWrite).unwrap();
    assert!(path.exists());
    files.remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn trees_have_no_files_to_open_and_opening_pipes_does_not_block() {
    let bench = Bench::new();
    let null = Target::Null(plumb_workload::NullTarget::with_size(Bytes(1)));
    assert!(matches!(bench.open(&null, None, Access::Read), Err(PrepareError::NoFiles { kind: "null" })));
    let pipe = bench.base.path().join("pipe");
    if crate::guard::testing::run("mkfifo", &[pipe.to_str().unwrap()]) {
        let result = bench.open(&file(&pipe, Prepare::Nothing), None, Access::Read);
        assert!(matches!(result, Err(PrepareError::WrongKind { .. })), "{result:?}");
    }
}

/// Returns `true` if the files are on a real file system; prints a skip notice if not.
fn can_be_cold(files: &TargetFiles) -> bool {
    let in_memory = crate::guard::space::InMemory::detect(&files.files[0]).unwrap().is_some();
    if in_memory {
        skipped("the sources are in memory");
    }
    !in_memory
}

/// Returns `true` if `resident_bytes` is the whole file, less 1 %. The kernel may have reclaimed
/// a page since, as DAMON does.
fn is_all(resident_bytes: u64) -> bool {
    (SIZE - SIZE / 100..=SIZE).contains(&resident_bytes)
}

#[test]
fn eviction_is_proven_and_warming_undoes_it() {
    let bench = Bench::new();
    let files = bench.open(&file("file", Prepare::Write), Some(SIZE), Access::ReadWrite).unwrap();
    if !can_be_cold(&files) {
        return;
    }
    let before = *files.residency().as_result().expect("seen");
    assert!(is_all(before.resident_bytes), "{before:?}");
    let proof = evict(&files, DropCaches::Never, bench.stop).unwrap();
    assert_eq!(proof.residency.total_bytes, SIZE);
    assert!(proof.residency.resident_bytes <= SIZE / 100 && !proof.dropped_caches);
    assert_eq!(proof.residency, *files.residency().as_result().expect("seen"));

    let warmth = warm(&files, bench.stop).unwrap();
    assert_eq!((warmth.read_bytes, warmth.left_out_bytes), (SIZE, 0));
    let warmed = warmth.residency.value().expect("seen");
    assert!(is_all(warmed.resident_bytes), "{warmed:?}");

    // Dirty pages must be written out before they can be evicted.
    files.files[0].file().write_all_at(&vec![9; 1 << 20], 0).unwrap();
    evict(&files, DropCaches::Never, bench.stop).unwrap();
}

#[test]
fn files_mapped_by_another_process_are_not_cold() {
    let bench = Bench::new();
    // A running program keeps its pages in the cache. `cp` copies it in another process: a child of another test could
    // briefly inherit our write descriptor, and the program could not be executed (ETXTBSY).
    let program = bench.base.path().join("program");
    assert!(crate::guard::testing::run("cp", &["/bin/sleep", program.to_str().unwrap()]));
    let files = TargetFiles::open_read_only([program.as_path()]).unwrap();
    if !can_be_cold(&files) {
        return;
    }
    let mut running = std::process::Command::new(&program).arg("600").spawn().unwrap();
    // Pages are mapped on first use. Once the program sleeps, all pages that it needs are mapped.
    let state = format!("/proc/{}/stat", running.id());
    while !fs::read_to_string(&state).unwrap().contains(") S ") {
        std::thread::sleep(Duration::from_millis(1));
    }
    let result = evict(&files, DropCaches::Never, bench.stop);
    running.kill().unwrap();
    running.wait().unwrap();
    let Err(NotCold::StillResident { residency, attempts, .. }) = result else { panic!("{result:?}") };
    assert!(residency.resident_bytes > residency.total_bytes / 100 && attempts > 1);
    evict(&files, DropCaches::Never, bench.stop).unwrap();
}

#[test]
fn files_in_memory_are_never_cold() {
    let shm = Path::new("/dev/shm");
    if !shm.is_dir() {
        return skipped("no /dev/shm here");
    }
    let bench = Bench::on(shm);
    let files = bench.open(&file("file", Prepare::Write), Some(1 << 20), Access::ReadWrite).unwrap();
    let refused = evict(&files, DropCaches::Allowed, bench.stop).unwrap_err();
    assert!(matches!(&refused, NotCold::InMemory { .. }), "{refused:?}");
    assert!(refused.to_string().contains("tmpfs"), "{refused}");
}

#[test]
fn root_fresh_file_systems_take_the_layout_and_get_cold() {
    if !is_root() {
        return;
    }
    for (tool, options) in [("mkfs.ext4", ["-q", "-F"]), ("mkfs.xfs", ["-q", "-f"]), ("mkfs.btrfs", ["-q", "-f"])] {
        let device = LoopDevice::new(400 << 20);
        if !device.format(tool, &options) {
            continue;
        }
        let mounted = Mounted::new(&[device.path.to_str().unwrap()]);
        let bench = Bench::on(mounted.path());
        let files = bench.open(&file("file", Prepare::Write), Some(SIZE), Access::ReadWrite).unwrap();
        let found = extents_of(&files);
        assert_eq!((found.hole_bytes, found.unwritten_bytes), (0, 0), "{tool}");
        evict(&files, DropCaches::Never, bench.stop).unwrap();
        files.set_mode(IoMode::Direct).unwrap();
        drop(files);
        let image = TargetFiles::open_read_only([device.image.as_path()]).unwrap();
        evict(&image, DropCaches::Never, bench.stop).unwrap();
    }
}

#[test]
fn root_a_device_is_opened_whole_or_in_part() {
    if !is_root() {
        return;
    }
    let bench = Bench::new();
    let device = LoopDevice::new(8 << 20);
    std::fs::write(&device.path, "precious").unwrap();
    let target = |destroy_serial| {
        Target::Device(DeviceTarget { path: device.path.clone(), size: None, destroy_serial, content: Content::Zero })
    };
    let read = bench.open(&target(None), None, Access::Read).unwrap();
    assert_eq!((read.total_bytes(), read.files[0].access()), (8 << 20, Access::Read));
    drop(read);
    let refused = bench.open(&target(None), None, Access::ReadWrite).unwrap_err();
    assert!(matches!(refused, PrepareError::Refused(Refusal::Unnamed { .. })), "{refused:?}");
    let named = target(Some(device.serial()));
    // A worker process that another test forks meanwhile has copies of the descriptors until it ends.
    let open_released = |bytes| {
        once_released(|| match bench.open(&named, Some(bytes), Access::ReadWrite) {
            Err(PrepareError::Refused(Refusal::Held { .. })) => None,
            done => Some(done),
        })
    };
    let files = open_released(1 << 20).unwrap();
    assert_eq!(files.total_bytes(), 1 << 20);
    files.files[0].again(IoMode::Direct).unwrap();
    evict(&files, DropCaches::Never, bench.stop).unwrap();
    drop(files);
    let too_long = open_released(9 << 20);
    assert!(matches!(too_long, Err(PrepareError::TooShort { .. })), "{too_long:?}");
}
