//! End-to-end tests of job files and command lines.

use super::invocation::AskedClient;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Default)]
struct Shelf(BTreeMap<String, String>);

impl Files for Shelf {
    fn read(&mut self, path: &str) -> Result<String, MissingFile> {
        self.0.get(path).cloned().ok_or_else(|| MissingFile { reason: "No such file".to_owned() })
    }
}

fn shelf(files: &[(&str, &str)]) -> Shelf {
    Shelf(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
}

fn parse(words: &[&str], files: &[(&str, &str)]) -> Result<Fio, FioErrors> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    read(&words, &Machine::default(), &mut shelf(files))
}

pub(super) fn file(text: &str) -> Fio {
    parse(&["a.fio"], &[("a.fio", text)]).unwrap_or_else(|errors| panic!("{errors}"))
}

fn refusal(text: &str) -> String {
    parse(&["a.fio"], &[("a.fio", text)]).expect_err("it must be refused").to_string()
}

#[test]
fn globals_hold_for_what_follows() {
    let fio = file("[global]\nbs=4k\n[a]\nrw=read\n[globalish]\nbs=8k\niodepth=4\n[a]\niodepth=2\n");
    assert_eq!(fio.jobs.len(), 2);
    assert_eq!((fio.jobs[0].direction.blocks.bs.read, fio.jobs[0].queue.iodepth), (4_096, 1));
    assert_eq!((fio.jobs[1].direction.blocks.bs.read, fio.jobs[1].queue.iodepth), (8_192, 2));
    assert_eq!(fio.jobs[1].name, "a");
    assert_eq!(fio.globals.len(), 3);
}

#[test]
fn a_later_value_keeps_slots_it_leaves_open() {
    let fio = file("[global]\nbs=4k\n[a]\nbs=,8k\n");
    let bs = fio.jobs[0].direction.blocks.bs;
    assert_eq!((bs.read, bs.write, bs.trim), (4_096, 8_192, 8_192));
}

#[test]
fn comments_end_values() {
    let fio = file("; one\n  # two\n[a] # three\nfilename=a#b;c\nexec_prerun=echo hi; echo there\nsize=1m ; fine\n");
    assert_eq!(fio.jobs[0].files.names.filenames, ["a"]);
    assert_eq!(fio.jobs[0].identity.exec_prerun.as_deref(), Some("echo hi"));
    assert_eq!(fio.warnings.len(), 2, "{:?}", fio.warnings);
    assert_eq!(
        fio.warnings[1].to_string(),
        "a.fio:5: the value `exec_prerun=echo hi` ends at the comment character; `; echo there` is ignored, as in fio"
    );
}

#[test]
fn some_options_take_effect_first_and_some_last() {
    let fio = file("[a]\nfilename=x\nbs=4k\nkb_base=1000\n");
    assert_eq!(fio.jobs[0].direction.blocks.bs.read, 4_000);
    let order: Vec<&str> = fio.jobs[0].section.options.iter().map(|given| given.option.name).collect();
    assert_eq!(order, ["kb_base", "bs", "filename"]);
    // On a command line, each option takes effect at its position.
    let fio = parse(&["--name=a", "--bs=4k", "--kb_base=1000"], &[]).unwrap();
    assert_eq!(fio.jobs[0].direction.blocks.bs.read, 4_096);
}

#[test]
fn the_last_of_two_names_of_a_choice_holds() {
    assert!(!file("[a]\ndirect=1\nbuffered=1\n").jobs[0].queue.direct);
    assert!(file("[a]\nbuffered=1\ndirect=1\n").jobs[0].queue.direct);
    assert_eq!(file("[a]\nrwmixread=80\nrwmixwrite=30\n").jobs[0].direction.read_percent, 70);
    assert_eq!(file("[a]\nrwmixwrite=30\nrwmixread=80\n").jobs[0].direction.read_percent, 80);
    assert_eq!(file("[a]\ncpumask=5\n").jobs[0].memory.cpus, Some(vec![0, 2]));
}

#[test]
fn variables_and_sums() {
    let machine = Machine { environment: [("SIZE".to_owned(), "64m".to_owned())].into(), ..Machine::default() };
    let text = "[a]\nsize=${SIZE}\ndescription=x${NONE}y\niodepth=$ncpus*4\nbs=$pagesize\nfilename=/t/$ncpus\n";
    let fio = read(&["a.fio".to_owned()], &machine, &mut shelf(&[("a.fio", text)])).unwrap();
    let job = &fio.jobs[0];
    assert_eq!(job.direction.region.size, Some(value::FileRegion::Bytes(64 << 20)));
    assert_eq!(job.identity.description.as_deref(), Some("xy"));
    assert_eq!((job.queue.iodepth, job.direction.blocks.bs.read), (16, 4_096));
    assert_eq!(job.files.names.filenames, ["/t/4"]);
    // Variables are not expanded on the command line.
    assert!(parse(&["--name=a", "--iodepth=$ncpus"], &[]).is_err());
}

#[test]
fn includes() {
    let files = [
        ("jobs/a.fio", "[global]\ninclude common.inc\n[x]\nsize=1m\n"),
        ("jobs/common.inc", "bs=16k\ninclude more.inc\n"),
        ("jobs/more.inc", "iodepth=3"),
    ];
    let fio = parse(&["jobs/a.fio"], &files).unwrap();
    assert_eq!((fio.jobs[0].direction.blocks.bs.read, fio.jobs[0].queue.iodepth), (16_384, 3));
    assert!(fio.globals[0].place.to_string().starts_with("jobs/common.inc:1"));
    let nested = parse(&["a"], &[("a", "[x]\ninclude b\n"), ("b", "[y]\n")]).unwrap_err().to_string();
    assert!(nested.contains("b:1: an included file cannot open a section"), "{nested}");
    let endless = parse(&["a"], &[("a", "[x]\ninclude a.inc\n"), ("a.inc", "include a.inc\n")]).unwrap_err();
    assert!(endless.to_string().contains("more than 16 deep"), "{endless}");
}

#[test]
fn a_second_file_waits_for_the_first() {
    let fio = parse(&["a", "b"], &[("a", "[x]\n"), ("b", "[global]\nbs=8k\n[y]\n[z]\n")]).unwrap();
    let waits: Vec<bool> = fio.jobs.iter().map(|job| job.identity.stonewall).collect();
    assert_eq!(waits, [false, true, false]);
}

#[test]
fn sections_can_be_chosen() {
    let text = "[global]\nbs=8k\n[x]\nnonsense=1\n[y]\n";
    let fio = parse(&["--section=y", "a"], &[("a", text)]).unwrap();
    assert_eq!(fio.jobs.len(), 1);
    assert_eq!((fio.jobs[0].name.as_str(), fio.jobs[0].direction.blocks.bs.read), ("y", 8_192));
    assert!(parse(&["--section=w", "a"], &[("a", text)]).is_err());
}

#[test]
fn errors_name_place_and_way_out() {
    assert_eq!(refusal("[a]\n\nidoepth=4\n"), "a.fio:3: unknown fio option `idoepth`; did you mean `iodepth`?");
    assert_eq!(
        refusal("[a]\niodepth=lots\n"),
        "a.fio:2: iodepth=lots: `lots` is not a number; it takes a whole number"
    );
    assert_eq!(
        refusal("bs=4k\nrw=read\n"),
        "a.fio:1: `bs=4k` comes before any section; add [global] or a job name in brackets above it"
    );
    assert!(refusal("[a\n").contains("no closing bracket"));
    assert!(refusal("[a]\nioengine=libiao\n").ends_with("did you mean `libaio`?"));
    assert!(
        refusal("[a]\nioengine=psync\nrbdname=x\n")
            .contains("the engine psync has no option `rbdname`; it belongs to rbd")
    );
    assert!(refusal("[a]\nioengine=rbd\nrbdnam=x\n").ends_with("did you mean `rbdname`?"));
    assert!(refusal("[a]\nhipri\n").contains("the engine psync has no option `hipri`; it belongs to pvsync2"));
    assert!(refusal("[a]\nprofile=tiobench\n").contains("is not supported yet"));
    assert!(refusal("[a]\nrwmixcycle=5\n").contains("is not supported, because"));
    assert!(parse(&["missing.fio"], &[]).unwrap_err().to_string().starts_with("cannot read missing.fio"));
    // All errors are reported at once.
    assert_eq!(refusal("[a]\nx=1\n[b]\ny=2\n").lines().count(), 2);
}

#[test]
fn engine_options_of_a_global_section_concern_only_jobs_of_that_engine() {
    let fio = file("[global]\nioengine=io_uring\nfixedbufs\n[a]\n[b]\nioengine=psync\n");
    assert!(fio.jobs[0].engine.fixed_buffers);
    assert!(!fio.jobs[1].engine.fixed_buffers);
    // A global option must apply to at least one job. An unsupported one is reported once, as in a job.
    assert!(refusal("[global]\nfixedbufs\n[a]\n[b]\n").contains("the engine psync has no option `fixedbufs`"));
    let unsupported = refusal("[global]\nioengine=net\nttl=3\n[a]\n[b]\n");
    assert!(unsupported.contains("`ttl` is not supported yet") && unsupported.lines().count() == 1, "{unsupported}");
    assert_eq!(file("[global]\nioengine=net\nttl=1\n[a]\n").jobs.len(), 1, "it is so anyway");
    // The engine may follow its options.
    assert!(file("[a]\nhipri\nioengine=io_uring\n").jobs[0].engine.hipri);
    assert_eq!(file("[a]\nioengine=linuxaio\n").jobs[0].queue.ioengine, "libaio");
}

/// Such jobs can be translated, but are refused at run time.
#[test]
fn unsupported_engines_are_parsed_with_their_options() {
    let fio = file("[a]\nioengine=rbd\nrbdname=x\npool=p\nbs=8k\n");
    assert_eq!(fio.jobs[0].direction.blocks.bs.read, 8_192);
    assert_eq!(fio.jobs[0].section.options[1].text.as_deref(), Some("x"));
    assert_eq!(file("[a]\nioengine=io_uring_cmd\nmd_per_io_size=8\n").jobs.len(), 1);
    assert!(refusal("[a]\nioengine=io_uring\nmd_per_io_size=8\n").contains("not supported yet"));
}

#[test]
fn options_that_fio_dropped_are_still_parsed() {
    let dropped = file("[a]\nverifysort=1\nflow_watermark=10\n").warnings;
    assert_eq!(dropped.len(), 2, "read, and reported to have no effect: {dropped:?}");
    let threads = file("[a]\nthreads=4\n").warnings;
    assert!(threads[0].to_string().contains("`threads` is ignored: It belongs to --profile=tiobench"), "{threads:?}");
    assert!(refusal("[a]\nrwmixcycle=5\n").contains("rwmixcycle"));
}

#[test]
fn command_lines() {
    let fio = parse(
        &["--bs=8k", "--name=a", "-rw", "randread", "--iodepth=4", "--group_r", "--thread", "--name=b", "--size", "1m"],
        &[],
    )
    .unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(fio.jobs.len(), 2);
    let (a, b) = (&fio.jobs[0], &fio.jobs[1]);
    assert_eq!((a.direction.blocks.bs.read, b.direction.blocks.bs.read), (8_192, 8_192));
    assert!(a.identity.thread && a.identity.group_reporting && !b.identity.thread);
    assert_eq!(b.direction.region.size, Some(value::FileRegion::Bytes(1 << 20)));
    let global = parse(&["--name=global", "--bs=8k", "--name=x"], &[]).unwrap();
    assert_eq!(global.jobs[0].direction.blocks.bs.read, 8_192);
    let text = parse(&["--rate_i=3", "--name=x"], &[]).unwrap_err().to_string();
    assert_eq!(
        text,
        "command line, word 1: `rate_i` is ambiguous: rate_iops, rate_iops_min, rate_ignore_thinktime; write the name \
         in full"
    );
    assert!(parse(&["--name=x", "--bs"], &[]).unwrap_err().to_string().contains("`--bs` needs a value"));
    // The start of an engine option's name is enough if nothing else matches.
    let short = parse(&["--name=x", "--ioengine=libaio", "--nic=3", "--userspace"], &[]).unwrap();
    assert!(short.jobs[0].identity.nice == 3 && short.jobs[0].engine.userspace_reap);
    assert!(parse(&["--roo=x"], &[]).is_err());
    let hosts =
        parse(&["--client=a", "x", "y", "--client", "b,9", "--remote-config=z", "w"], &[]).unwrap().invocation.hosts;
    let asked = |host: &str, files: &[&str], remote: &[&str]| AskedClient {
        host: host.to_owned(),
        files: files.iter().map(|&file| file.to_owned()).collect(),
        remote_files: remote.iter().map(|&file| file.to_owned()).collect(),
    };
    assert_eq!(hosts.clients, [asked("a", &["x", "y"], &[]), asked("b,9", &[], &["z"])]);
    assert_eq!(hosts.files, ["w"]);
    let text = parse(&["--client=a", "--server"], &[]).unwrap_err().to_string();
    assert!(text.contains("either a client or a server"), "{text}");
}

#[test]
fn every_option_of_the_program_is_taken_or_refused() {
    for option in commandline::PROGRAM_OPTIONS {
        let value = if option.takes == commandline::Takes::Nothing { "" } else { "=4" };
        // No option may panic, for instance at an `unreachable!`.
        let _ = parse(&[&format!("--{}{value}", option.name), "--name=x"], &[]);
    }
    let fio =
        parse(&["--output-format=json,normal", "--output=x", "--eta-interval=500ms", "--status-interval=1", "-v"], &[])
            .unwrap();
    assert_eq!(fio.invocation.formats, [OutputFormat::Normal, OutputFormat::Json]);
    assert_eq!(fio.invocation.action, Action::Version);
    assert_eq!(fio.invocation.progress.eta_interval, Some(plumb_workload::Nanos(500_000_000)));
    assert!(parse(&["--eta-interval=100ms", "--name=x"], &[]).is_err());
}

/// Protects: the jobs of tiobench follow the options of the command line, in fio's order.
#[test]
fn tiobench_has_four_jobs() {
    let fio = parse(&["--profile=tiobench", "--size=8", "--block=8192", "--dir=d", "--threads=3"], &[]).unwrap();
    let names: Vec<&str> = fio.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["seqwrite", "randwrite", "seqread", "randread"]);
    let last = &fio.jobs[3];
    assert!(last.identity.stonewall && last.identity.thread && last.queue.direct && last.identity.numjobs == 3);
    assert_eq!(
        (last.direction.blocks.bs.read, last.files.names.directories.as_slice()),
        (8_192, &["d".to_owned()][..])
    );
    assert_eq!(last.files.names.filenames.len(), 4);
    let job = parse(&["--profile=tiobench", "--name=mine", "--size=1m"], &[]).unwrap();
    assert_eq!((job.jobs.len(), job.jobs[0].name.as_str()), (5, "mine"), "next to other jobs");
    assert!(parse(&["--profile=nope"], &[]).unwrap_err().to_string().contains("profile 'nope' not found"));
}

/// Protects: the jobs of act have fio's rates and sizes. Times and sizes have the meaning that their names imply, and
/// input that makes fio divide by zero is refused.
#[test]
fn act_reads_and_writes_each_device() {
    let act = |words: &[&str]| {
        let words: Vec<&str> = ["--profile=act"].into_iter().chain(words.iter().copied()).collect();
        parse(&words, &[])
    };
    let fio =
        act(&["--device-names=/dev/sdx,/dev/sdy", "--test-duration=2", "--load=3", "--threads-per-queue=4"]).unwrap();
    let names: Vec<&str> = fio.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["act-read-/dev/sdx", "act-write-/dev/sdx", "act-read-/dev/sdy", "act-write-/dev/sdy"]);
    assert_eq!(fio.act, Some(ActTest { duration: plumb_workload::Nanos(2_000_000_000) }));
    assert!(fio.warnings.is_empty() && fio.is_of_profile(0));
    let (read, write) = (&fio.jobs[0], &fio.jobs[1]);
    assert!(read.queue.direct && read.identity.thread && read.stop.time_based && read.identity.numjobs == 4);
    assert_eq!((read.direction.blocks.bs.read, write.direction.blocks.bs.write), (1_536, 131_072));
    assert_eq!(read.stop.runtime, Some(plumb_workload::Nanos(2_000_000_000)));
    let rate = |job: &FioJob| job.pace.rate.iops.read.max(job.pace.rate.iops.write);
    assert_eq!((rate(read), rate(write)), (Some(1_500), Some(36)));
    // A time with a unit, and a size in KiB.
    let meant = act(&["--device-names=d", "--test-duration=2h", "--large-block-op-kbytes=128"]).unwrap();
    assert_eq!(meant.act, Some(ActTest { duration: plumb_workload::Nanos(7_200_000_000_000) }));
    assert_eq!((meant.jobs[1].direction.blocks.bs.write, meant.warnings.len()), (131_072, 2));
    let strict = act(&["--compat=strict", "--device-names=d", "--test-duration=2s"]).unwrap();
    assert_eq!(strict.act, Some(ActTest { duration: plumb_workload::Nanos(2_000_000_000_000_000) }));
    let beside =
        parse(&["--name=mine", "--size=1m", "--profile=act", "--device-names=d", "--test-duration=1"], &[]).unwrap();
    assert!(beside.jobs.len() == 3 && !beside.is_of_profile(0), "wherever the profile's options stand");
    // Preparation jobs.
    let prep = act(&["--device-names=d", "--prep"]).unwrap();
    assert_eq!((prep.jobs.len(), prep.act), (2, None));
    assert!(prep.jobs[1].identity.stonewall && prep.jobs[1].queue.iodepth == 64 && prep.jobs[0].content.zero);
    for (words, expected) in [
        (&[] as &[&str], "set the devices with --device-names"),
        (&["--device-names=d", "--threads-per-queue=0"], "use 1 to 1048576"),
        (&["--device-names=d", "--load=lots"], "load=lots"),
        (&["--compat=strict", "--device-names=d", "--large-block-op-kbytes=128"], "smaller than the reads"),
        (&["--device-names=d", "--threads-per-queue=4000"], "cannot share 2000 reads per second"),
    ] {
        let message = act(words).unwrap_err().to_string();
        assert!(message.contains(expected), "{words:?}: {message}");
    }
}

#[test]
fn strict_reads_as_fio_does_without_a_word() {
    let meant = parse(&["--name=a", "--runtime=5sec"], &[]).unwrap();
    assert_eq!(meant.jobs[0].stop.runtime, Some(plumb_workload::Nanos(5_000_000_000)));
    assert_eq!(meant.warnings[0].to_string(), "command line, word 2: runtime: `5sec` is read as 5 s; fio reads 5 µs");
    let strict = parse(&["--compat=strict", "--name=a", "--runtime=5sec"], &[]).unwrap();
    assert_eq!(strict.jobs[0].stop.runtime, Some(plumb_workload::Nanos(5_000)));
    assert!(strict.warnings.is_empty());
}

/// Returns a value that an option accepts.
fn sample(option: &options::OptionSpec) -> String {
    use value::kind::{Kind, Slots, Special};
    match option.kind() {
        _ if option.name == "kb_base" => "1024".to_owned(),
        _ if option.name == "ioengine" => "libaio".to_owned(),
        Kind::Whole(_, bounds) => bounds.least.unwrap_or(0).max(1).to_string(),
        Kind::Wide(Slots::Three, _) => "4k,8k".to_owned(),
        Kind::Wide(..) => "64k".to_owned(),
        Kind::Time(..) => "2".to_owned(),
        Kind::Region => "50%".to_owned(),
        Kind::Switch => "1".to_owned(),
        Kind::Flag => String::new(),
        Kind::Text | Kind::Names => "x".to_owned(),
        Kind::Choice(words) | Kind::Choices(words) => words[words.len() - 1].to_owned(),
        Kind::Floats { .. } => "1".to_owned(),
        Kind::Ranges => "4k-8k".to_owned(),
        Kind::Special(special) => match special {
            Special::Direction => "randrw",
            Special::Split => "4k/50:8k/50",
            Special::Distribution => "zipf:1.2",
            Special::Pattern => "0xff",
            Special::Cpus => "0-1",
            Special::NumaPolicy => "local",
            Special::IgnoreError => "EIO",
            Special::Steady => "iops:1%",
            Special::SyncRange => "write:4",
            Special::FileService => "random",
            Special::Memory => "mmap",
            Special::LogName => "log",
            Special::PrioritySplit => "4k/50/1/0",
        }
        .to_owned(),
    }
}

#[test]
fn every_option_that_works_makes_a_job_and_changes_its_meaning() {
    let mut unmoved = Vec::new();
    for option in options::all().filter(|option| option.support == options::Support::Works) {
        let engine = option.engines.first().filter(|engine| **engine != "netsplice").unwrap_or(&"libaio");
        let needs = if option.name.starts_with("spr_") { "sprandom=1\n" } else { "" };
        let head = format!("[a]\nioengine={engine}\nsteadystate_duration=1\n{needs}");
        let plain = meaning(&file(&head).jobs[0]);
        let text = format!("{head}{}={}\n", option.name, sample(option));
        let changed = meaning(&file(&text).jobs[0]);
        if plain == changed {
            unmoved.push(option.name);
        }
    }
    // The sample is the default, or is stored elsewhere in the job.
    unmoved.retain(|name| {
        let spec = options::find(name).unwrap();
        let is_default = spec.default == Some(sample(spec).as_str());
        !is_default && !["kb_base", "name", "ioengine", "buffered"].contains(name)
    });
    assert_eq!(unmoved, [] as [&str; 0], "these options are read, but nothing takes them up");
}

/// Formats a job without its texts and places.
fn meaning(job: &FioJob) -> String {
    let mut job = job.clone();
    job.section.options.clear();
    job.section.from_global = Default::default();
    format!("{job:?}")
}

#[test]
fn help_explains_everything() {
    for option in options::all() {
        assert!(help::command(Some(option.name)).page.contains(option.name));
    }
    assert!(help::command(None).page.contains("iodepth"));
    let close = help::command(Some("idoepth"));
    assert!(!close.is_found && close.page.contains("iodepth") && close.complaint.contains("idoepth"), "{close:?}");
    assert!(help::engine(None).page.lines().any(|line| line.trim() == "libaio"));
    assert!(help::engine(Some("libaio")).page.contains("userspace_reap"));
    assert!(help::engine(Some("libaio,nowait")).page.contains("RWF_NOWAIT"));
    assert!(!help::engine(Some("nope")).is_found);
}

/// Generates a job file of supported options.
fn job_texts() -> impl Strategy<Value = String> {
    let core: Vec<&'static options::OptionSpec> = options::all()
        .filter(|option| option.engines.is_empty() && option.support == options::Support::Works)
        .filter(|option| option.name != "name")
        .collect();
    let line = proptest::sample::select(core).prop_map(|option| match sample(option).as_str() {
        "" => option.name.to_owned(),
        text => format!("{}={text}", option.name),
    });
    let section = |name: &'static str| {
        (proptest::sample::select(vec![name, "b b", "it's"]), proptest::collection::vec(line.clone(), 0..6))
            .prop_map(|(name, lines)| format!("[{name}]\n{}\n", lines.join("\n")))
    };
    (section("global"), proptest::collection::vec(prop_oneof![section("a"), section("global")], 1..5))
        .prop_map(|(head, sections)| format!("{head}{}[last]\n", sections.concat()))
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(text in "(\\PC|\n){0,200}", words in proptest::collection::vec("-{0,2}\\PC{0,12}", 0..6)) {
        let _ = parse(&["a"], &[("a", &text)]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let _ = parse(&words, &[]);
    }

    #[test]
    fn no_value_makes_an_option_panic(index in 0..400_usize, text in "[-0-9a-z.,:/%()^*+' \"x]{0,24}") {
        let all: Vec<_> = options::all().collect();
        let option = all[index % all.len()];
        for compat in [Compat::Meant, Compat::Strict] {
            let mut doubts = Vec::new();
            let mut reading = value::ValueReading { compat, kb_base: 1_024, doubts: &mut doubts };
            let _ = option.read(Some(&text), &mut reading);
        }
        let _ = parse(&["a"], &[("a", &format!("[x]\n{}={text}\n", option.name))]);
    }

    #[test]
    fn a_printed_line_means_the_same_jobs(text in job_texts()) {
        let fio = file(&text);
        let line = show::line(&fio);
        let words = unquoted(&line);
        let again = read(&words[1..], &Machine::default(), &mut Shelf::default()).unwrap();
        prop_assert_eq!(fio.jobs.len(), again.jobs.len());
        for (job, again) in fio.jobs.iter().zip(&again.jobs) {
            let mut again = again.clone();
            again.place = job.place.clone();
            prop_assert_eq!(meaning(job), meaning(&again), "{}", line);
        }
    }
}

/// Splits a line into words like a shell.
fn unquoted(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        let word = words.last_mut().unwrap();
        match c {
            '\'' => quoted = !quoted,
            '\\' if !quoted => word.extend(characters.next()),
            ' ' if !quoted => words.push(String::new()),
            c => word.push(c),
        }
    }
    words
}
