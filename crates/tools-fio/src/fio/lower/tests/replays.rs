//! Jobs that replay a recording.

use super::*;

fn recording(lowered: &Lowered, copy: usize) -> &Recording {
    group(lowered, copy).work.trace().expect("a recording")
}

fn names(lowered: &Lowered, copy: usize) -> Vec<String> {
    let names = &files(lowered, copy).names;
    (0..names.count()).map(|number| names.path(number).unwrap().display().to_string()).collect()
}

#[test]
fn files_are_those_of_the_recording_below_the_directory() {
    let all = lowered("[a]\nread_iolog=rec\ndirectory=d\n");
    assert_eq!(names(&all, 0), ["d/a", "/x/b"]);
    assert_eq!(files(&all, 0).lengths, [Bytes(1 << 20), Bytes(4096)]);
    let found = recording(&all, 0);
    assert_eq!((found.largest, found.speed_percent), (Bytes(65_536), Some(100)));
    assert_eq!(found.moves, ByKind { read: true, write: true, trim: false });
    assert!(group(&all, 0).files.prepare.write, "the data to read exists");
}

// A job may write to the files that it names itself. The job that made a recording needed no permission for them, so
// neither does its replay. A name generated for another job does not count.
#[test]
fn generated_names_of_the_job_are_its_own() {
    let names = |text: &str| files(&lowered(text), 0).names.clone();
    let own = |path: &str| Names::Numbered { path: path.into(), count: 1, per_directory: None };
    assert_eq!(names("[a]\nread_iolog=rec.own\n"), own("a.0.0"));
    assert_eq!(names("[a]\nread_iolog=rec.own\ndirectory=d\n"), own("d/a.0.0"));
    let given = Names::Given(vec!["a.0.0".into()]);
    for text in ["[b]\nread_iolog=rec.own\n", "[a]\nread_iolog=rec.own\nnrfiles=2\n"] {
        assert_eq!(names(text), given, "{text}");
    }
}

#[test]
fn a_redirect_file_holds_all_ops() {
    let all = lowered("[a]\nread_iolog=rec\nreplay_redirect=to\nreplay_scale=4\nreplay_skip=read\nreplay_no_stall=1\n");
    assert_eq!((names(&all, 0), recording(&all, 0).one_file), (vec!["to".to_owned()], true));
    assert_eq!(files(&all, 0).lengths, [Bytes((256 << 10) + 65_536)], "offsets are divided, and lengths are not");
    assert_eq!((recording(&all, 0).scale, recording(&all, 0).speed_percent), (4, None));
    assert!(!recording(&all, 0).moves.read);
    assert!(!group(&all, 0).files.prepare.write, "nothing is read");
}

#[test]
fn devices_are_found_by_their_numbers_or_refused() {
    let all = on(&[("/dev/loop7", Found::Block { bytes: GIB })], "[a]\nread_iolog=rec.bin\n").unwrap();
    assert_eq!(names(&all, 0), ["/dev/loop7", "/x/b"]);
    assert!(refusal("[a]\nread_iolog=rec.bin\n").contains("7:7, which this machine does not have"));
    lowered("[a]\nread_iolog=rec.bin\nreplay_redirect=to\n");
}

#[test]
fn each_copy_has_its_recording_and_limits_are_kept() {
    let all = lowered("[a]\nread_iolog=rec1:rec2\nnumjobs=3\nloops=2\nnumber_ios=9\nreplay_time_scale=50\n");
    let paths: Vec<_> = (0..3).map(|copy| (all.jobs[copy].copy, recording(&all, copy).path.clone())).collect();
    assert_eq!(paths, [(0, "rec1".into()), (2, "rec1".into()), (1, "rec2".into())]);
    let found = recording(&all, 0);
    assert_eq!((found.loops, found.max_ops, found.speed_percent), (2, Some(9), Some(50)));
}

#[test]
fn a_merged_recording_is_replayed() {
    let text =
        "[a]\nread_iolog=rec1:rec2\nmerge_blktrace_file=m\nmerge_blktrace_scalars=50:100\nmerge_blktrace_iters=2:1\n";
    assert_eq!(recording(&lowered(text), 0).path.to_str(), Some("m"));
    let merges = merges(&read(text)).unwrap();
    let parts: Vec<_> =
        merges[0].from.parts.iter().map(|part| (part.path.as_str(), part.percent, part.times)).collect();
    assert_eq!((merges.len(), parts), (1, vec![("rec1", 50.0, 2), ("rec2", 100.0, 1)]));
    let short = "[a]\nread_iolog=rec1:rec2\nmerge_blktrace_file=m\nmerge_blktrace_iters=2\n";
    assert!(refusal(short).contains("1 numbers for 2 recordings"));
    assert!(refusal("[a]\nmerge_blktrace_file=m\n").contains("read_iolog"));
}

/// fio differs from its manual, and `--compat=strict` from the default.
#[test]
fn ambiguous_waits_are_reported_once() {
    let all = lowered("[a]\nread_iolog=rec.waits\nnumjobs=2\n");
    assert_eq!(all.warnings.iter().filter(|warning| warning.contains("--compat=strict")).count(), 1);
    assert_eq!(recording(&all, 0).waits, Waits::Manual);
    let words = ["--compat=strict".to_owned(), "a.fio".to_owned()];
    let text = OneFile("[a]\nread_iolog=rec.waits\n".to_owned());
    let strict = fio::read(&words, &Machine::default(), &mut { text }).unwrap();
    let strict = lower(&strict, &mut known(&[]), Entropy(7), validate).unwrap();
    assert_eq!((recording(&strict, 0).waits, strict.warnings), (Waits::Fio, vec![]));
}

#[test]
fn unreadable_recordings_are_reported() {
    assert!(refusal("[a]\nread_iolog=none\n").contains("there is no such recording"));
    assert!(refusal("[a]\nread_iolog=-\n").contains("name a file"));
}
