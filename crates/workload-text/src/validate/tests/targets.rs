//! Tests of the rules for targets.

use super::*;

#[test]
fn targets() {
    each_fires(&[
        (|w| file(w).path = "".into(), "target.data.file.path", "empty", "name"),
        (|w| file(w).path = "a/../../b".into(), "target.data.file.path", "is outside", "`..`"),
        (|w| file(w).path = "./.".into(), "target.data.file.path", "test directory itself", "inside"),
        (|w| file(w).path = "a\0b".into(), "target.data.file.path", "NUL", "file names cannot"),
        (|w| file(w).path = "set".into(), "target.set.tree.path", "`data` and `set` are the same path", "share"),
        (|w| file(w).size = None, "target.data.file", "needs a size", "size = "),
        (|w| file(w).size = Some(gib(0)), "target.data.file.size", "size is 0", "as large"),
        (
            |w| file(w).size = Some(Size::Bytes(Bytes(u64::MAX))),
            "target.data.file.size",
            "exceed the largest file size",
            "largest offset",
        ),
        (|w| file(w).size = Some(Size::Ram(f64::NAN)), "target.data.file.size", "is 0", "factor"),
        (|w| file(w).size = Some(Size::Free(1.5)), "target.data.file.size", "100 % of the free space", "free*10%"),
        (
            |w| file(w).content = Content::Reducible { compress_percent: 101, duplicate_percent: 0 },
            "target.data.file.content.reducible.compress-percent",
            "more than 100 %",
            "0 to 100",
        ),
        (
            |w| tree(w).content = Content::Reducible { compress_percent: 0, duplicate_percent: 200 },
            "target.set.tree.content.reducible.duplicate-percent",
            "more than 100 %",
            "0 to 100",
        ),
        (|w| tree(w).files = 0, "target.set.tree.files", "is 0", "at least 1"),
        (|w| tree(w).files = u64::MAX, "target.set.tree.files", "too many", "fewer"),
        (|w| tree(w).width = 0, "target.set.tree.width", "is 0", "sub-directory"),
        (|w| tree(w).depth = u32::MAX, "target.set.tree.depth", "directories", "smaller"),
        (|w| tree(w).preallocated_percent = 101, "target.set.tree.preallocated-percent", "more than 100 %", "100"),
        (
            |w| tree(w).size = Distribution::Uniform { min: Bytes(2), max: Bytes(1) },
            "target.set.tree.size.uniform.min",
            "above `max`",
            "swap",
        ),
        (
            |w| tree(w).size = Distribution::Gamma { mean: Bytes(0), shape: 1.5 },
            "target.set.tree.size.gamma.mean",
            "mean is 0",
            "16KiB",
        ),
        (
            |w| tree(w).size = Distribution::Gamma { mean: Bytes(9), shape: f64::NAN },
            "target.set.tree.size.gamma.shape",
            "NaN",
            "1.5",
        ),
        (
            |w| tree(w).size = Distribution::Weighted(vec![]),
            "target.set.tree.size.weighted",
            "is empty",
            "at least one",
        ),
        (
            |w| tree(w).size = Distribution::Weighted(vec![WeightedSize { size: Bytes(1), weight: 0.0 }]),
            "target.set.tree.size.weighted[0].weight",
            "above 0",
            "leave out",
        ),
        (|w| device(w).path = "sdx".into(), "target.dev.device.path", "relative", "by-id"),
        (|w| device(w).size = Some(gib(0)), "target.dev.device.size", "size is 0", "large"),
        (|w| device(w).destroy_serial = Some(" ".into()), "target.dev.device.destroy-serial", "empty", "lsblk"),
        (
            |w| drop(w.target.insert("nil".into(), Target::Null(NullTarget::with_size(Bytes(0))))),
            "target.nil.null.size",
            "size is 0",
            "large",
        ),
        (
            |w| {
                let files = FilesTarget {
                    path: "many".into(),
                    count: 0,
                    size: gib(1),
                    prepare: Prepare::Write,
                    content: Content::Zero,
                };
                w.target.insert("many".into(), Target::Files(files));
            },
            "target.many.files.count",
            "is 0",
            "at least 1",
        ),
        (
            |w| {
                let files = FilesTarget {
                    path: "many".into(),
                    count: 1 << 21,
                    size: gib(1),
                    prepare: Prepare::Write,
                    content: Content::Zero,
                };
                w.target.insert("many".into(), Target::Files(files));
            },
            "target.many.files.count",
            "too many to be open at once",
            "1048576",
        ),
        (
            |w| {
                let names = Names::Numbered { path: "x.{}".into(), count: 1 << 28, per_directory: None };
                w.target.insert(
                    "many".into(),
                    Target::JobFiles(JobFiles { names, lengths: Vec::new(), typed: Vec::new(), make_below: None }),
                );
            },
            "target.many.job-files.names.numbered.count",
            "too many for their state",
            "134217728",
        ),
        (|w| sim(w).size = Bytes(0), "target.sim.sim.size", "size is 0", "large"),
        (|w| sim(w).files = Some(0), "target.sim.sim.files", "is 0", "leave `files` out"),
        (|w| sim(w).files = Some(1 << 40), "target.sim.sim.files", "do not fit", "fewer"),
        (|w| sim(w).preallocated_percent = 101, "target.sim.sim.preallocated-percent", "more than 100 %", "100"),
        (
            |w| sim(w).shares = Some("nothing".into()),
            "target.sim.sim.shares",
            "not another simulated target",
            "leave `shares` out",
        ),
        (|w| sim(w).shares = Some("sim".into()), "target.sim.sim.shares", "not another simulated target", "of its own"),
        (|w| sim(w).device.slow = -0.1, "target.sim.sim.device", "`slow` is -0.1", "use 0"),
        (|w| sim(w).device.errors = 1.5, "target.sim.sim.device", "`errors` is 1.5", "0 to 1"),
        (|w| sim(w).device.cached = f64::NAN, "target.sim.sim.device", "`cached` is NaN", "0 to 1"),
        (
            |w| {
                sim(w).device.background = 0.5;
                sim(w).device.resync = 0.5;
            },
            "target.sim.sim.device",
            "together take 100 %",
            "5 %",
        ),
    ]);
    none_fires(&[
        |w| file(w).size = Some(Size::Ram(2.0)),
        |w| {
            file(w).path = "/srv/big".into();
            file(w).size = None;
        },
        |w| tree(w).size = Distribution::Fixed(Bytes(0)),
        |w| sim(w).shares = Some("simset".into()),
        |w| {
            tree(w).width = 1;
            tree(w).depth = 40;
        },
    ]);
}

#[test]
fn the_range_of_several_files_is_all_of_them() {
    let text = |span: &str| {
        format!(
            "name = \"files\"\n[target.many.files]\npath = \"many\"\ncount = 3\nsize = \"1MiB\"\n[[phase]]\nname = \"read\"\n\
             [[phase.workers]]\ntarget = \"many\"\nwork.blocks.span = \"{span}\"\n"
        )
    };
    assert!(crate::native::parse("files", &text("3MiB")).is_ok());
    let error = crate::native::parse("files", &text("4MiB")).unwrap_err().to_string();
    assert!(error.contains("the target's end at 3MiB"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_path_must_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let mut workload = sound();
    file(&mut workload).path = std::ffi::OsStr::from_bytes(b"a\xff").into();
    assert!(validate(&workload)[0].message.contains("not UTF-8"));
}
