use super::{Action, ElbenchoSettings, ElbenchoUsageError, Rwmix, help, options, read};

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

pub(super) fn settings(line: &str) -> ElbenchoSettings {
    read(&words(line), &mut |path| Err(plumb_tools::FileError::NotPublished { path: path.to_owned() })).unwrap()
}

fn error_of(line: &str) -> String {
    let all: Vec<ElbenchoUsageError> =
        read(&words(line), &mut |path| Err(plumb_tools::FileError::NotPublished { path: path.to_owned() }))
            .unwrap_err();
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

// Protects the forms of boost's program_options that scripts use.
#[test]
fn options_parse_in_all_their_forms() {
    for line in ["-w -b 64k -t4 d", "-wb64k --threads=4 d", "--write --block 64K --thr 4 d", "-w=1 -b=64k -t 4 -- d"] {
        let read = settings(line);
        assert!(read.phases.write, "{line}");
        assert_eq!((read.ops.block, read.threads, read.paths.as_slice()), (65_536, 4, &["d".to_owned()][..]), "{line}");
    }
    assert!(!settings("-w --direct=false d").ops.direct);
    assert_eq!(settings("-r f[1-3]").paths, ["f1", "f2", "f3"]);
    assert_eq!(settings("-r --nopathexp f[1-3]").paths, ["f[1-3]"]);
    assert_eq!(settings("-w --rwmixpct 30 f").mix.rwmix, Rwmix::Percent(30));
    assert_eq!(settings("--dryrun -w d").action, Action::DryRun);
}

// Protects scripts with an options file: the command line takes precedence, and may turn flags off.
#[test]
fn the_command_line_overrides_an_options_file() {
    let text = "# comment\nwrite=true\ndirect=1\nblock=4k # small\nthreads=3\n";
    let read = read(&words("-c x --direct=0 -t 2 f"), &mut |_| Ok(text.to_owned())).unwrap();
    assert!(read.phases.write && !read.ops.direct);
    assert_eq!((read.ops.block, read.threads), (4096, 2));
    let error = super::read(&words("-c x f"), &mut |_| Ok("nonsense=1\n".to_owned())).unwrap_err();
    assert!(error[0].to_string().contains("x:1"), "{error:?}");
}

// Protects users: errors name the option and contain a hint.
#[test]
fn errors_name_the_option() {
    for (line, text) in [
        ("--blok 4k f", "did you mean `--block`"),
        ("--lat9 f", "unknown option"),
        ("--live f", "is ambiguous"),
        ("-w -b", "needs a value"),
        ("-w -b 1.5m f", "--block=1.5m: "),
        ("-w -b 4q f", "128k"),
        ("-w -b 4k -b 8k f", "given twice"),
        ("-w --direct=maybe f", "takes only true or false"),
        ("-w --hosts a --opslog o f", "do not log ops"),
        ("-w --hosts a --livecsv o f", "only when a phase ends"),
        ("--service --hosts a", "a service waits"),
        ("--service d", "PLUMB_AGENT_ALLOW"),
        ("--service --port 0", "not a port"),
        ("--quit", "need --hosts"),
        ("--interrupt --numhosts 0 --hosts a", "need --hosts"),
        ("--service --svcpwfile p", "PLUMB_AGENT_KEYS"),
        ("-w --s3key x f", "is not supported"),
        ("-w --livejson x f", "not supported yet"),
        ("-w", "no benchmark path"),
        ("-w --rand --backward f", "cannot be combined"),
        ("-r --rand --norandalign --verify 3 f", "a multiple of 8 bytes"),
        ("-w --blockvarpct 101 f", "use 0 to 100"),
        ("-r --fadv seq,normal f", "dontneed and noreuse"),
        ("-r --mmap --madv noreuse f", "hugepage and nohugepage"),
        ("-w --verifydirect f", "needs --verify"),
        ("-t 0 -w f", "use 1 or more"),
    ] {
        let found = error_of(line);
        assert!(found.contains(text), "{line}: {found}");
    }
}

// Protects the help: every option of the table is in it.
#[test]
fn all_options_are_in_the_help() {
    let all = help::all();
    for option in options::OPTIONS {
        assert!(all.contains(&format!("--{}", option.name)), "{}", option.name);
    }
    assert!(help::short().contains("-w [ --write ]"));
}
