//! `plumb export --bundle` and `plumb verify`: results in one signed file, and the check of such a file.

use super::key;
use super::names::Names;
use crate::args::{ExportArguments, VerifyArguments};
use plumb_bundle::{
    BUNDLE_BYTES_MAX, BundleError, Contents, Origin, Outcome, Program, SigningKey, Verification, sha256_of, verify,
};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::{output, session};
use plumb_engine::guard::OutputFile;
use plumb_report::run::short_id;
use plumb_report::style::Ink;
use plumb_store::{ResultStore, StoredRun};
use plumb_text::bounded;
use std::fs::File;
use std::path::Path;

/// Writes the selected runs as a signed bundle.
pub(super) fn export(arguments: &ExportArguments, path: &Path, common: &Common) -> Result<End, Stopped> {
    if arguments.runs.is_empty() && arguments.study.is_none() && arguments.tag.is_none() {
        return Err(Stopped::usage("--bundle needs the runs to write, such as `plumb export last --bundle FILE`"));
    }
    let key = key::signing_key()?;
    let store = session::store_to_read(common)?;
    let ids = super::export::selected(&*store, arguments)?;
    let mut names = Names::new(arguments.anonymise);
    names.learn_runs(&*store, &ids)?;
    let stored = ids.iter().map(|id| stored_run(&*store, id, &mut names)).collect::<Result<Vec<_>, _>>()?;
    let bundle = make(&stored, &program(), &names, &key)?;
    OutputFile::named("--bundle", path).replace(&bundle)?;
    output::print(&format!("{}\n", path.display()));
    names.report();
    Ok(End::Done)
}

/// Makes a bundle of runs whose names were replaced already if they are to be.
pub(super) fn make(runs: &[StoredRun], program: &Program, names: &Names, key: &SigningKey) -> Result<Vec<u8>, Stopped> {
    let origin = Origin { program: program.clone(), anonymised: names.are_replaced() };
    plumb_bundle::make(runs, &origin, key).map_err(|error| match error {
        BundleError::TooLarge { .. } => Stopped::usage(error),
        error => Stopped::io(error),
    })
}

/// Returns a run as it is stored, with its names replaced if they are to be.
pub(super) fn stored_run(store: &dyn ResultStore, id: &str, names: &mut Names) -> Result<StoredRun, Stopped> {
    let mut run = store.stored_run(id)?;
    if names.are_replaced() {
        let result = names.shown(store.get(id)?)?;
        run.result = plumb_document::json::to_string(&result).map_err(Stopped::io)?;
        for blob in &mut run.blobs {
            blob.of = names.text(std::mem::take(&mut blob.of));
        }
    }
    Ok(run)
}

/// Returns the version of this program and the hash of its file.
pub(super) fn program() -> Program {
    // The link leads to the running file even if its name is another file's by now.
    let running = Path::new("/proc/self/exe");
    let file = File::open(running).or_else(|_| File::open(std::env::current_exe()?));
    Program { version: env!("CARGO_PKG_VERSION").to_owned(), sha256: file.and_then(sha256_of).ok() }
}

pub(crate) fn run_verify(arguments: &VerifyArguments, common: &Common) -> Result<End, Stopped> {
    let expected = arguments.key.as_deref().map(key::expected).transpose()?;
    let trusted = key::trusted()?;
    let path = &arguments.file;
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = bounded::read_at_most(path, BUNDLE_BYTES_MAX).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Stopped::usage(named(&error)),
        _ => Stopped::io(named(&error)),
    })?;
    let contents = Contents::read(&bytes).map_err(|error| Stopped::usage(named(&error)))?;
    let verification = verify(&contents, &trusted, expected.as_deref());
    if common.json {
        session::print_json(&verification)?;
    } else {
        output::print(&page(&verification));
    }
    Ok(if verification.valid { End::Done } else { End::AssertedFalse })
}

/// Limits of a valid signature, for readers.
const LIMITS: &str = "A signature shows that nobody changed the files since this key signed them. It does not show that the numbers \
                      were measured honestly, on the machine that they name, or by an unchanged Plumb. What the checks observed \
                      (device counters, other load) is in the findings as text and was not judged again.";

fn page(verification: &Verification) -> String {
    let style = session::style();
    let mut text = String::new();
    for run in &verification.runs {
        let (id, at) = (short_id(&run.id), run.started_at.get(..16).unwrap_or(&run.started_at).replace('T', " "));
        let verdict = run.verdict.name();
        text.push_str(&format!("run {id}  {}  {at}  measured by {}, verdict {verdict}\n", run.workload, run.tool));
    }
    text.push('\n');
    let many = verification.runs.len() > 1;
    for check in &verification.checks {
        let (mark, ink) = match check.outcome {
            Outcome::Holds => ("ok    ", Ink::Good),
            Outcome::Fails => ("WRONG ", Ink::Bad),
            Outcome::NotChecked => ("-     ", Ink::Faint),
        };
        let run = check.run.as_deref().filter(|_| many).map_or(String::new(), |run| format!("run {}: ", short_id(run)));
        text.push_str(&format!("  {}{}\n", style.ink(ink, mark), style.wrap(&format!("{run}{}", check.text), 8)));
    }
    text.push_str(&format!("\n{}\n", style.wrap(&signer(verification), 0)));
    let program = &verification.program;
    let hash = program.sha256.as_deref().map_or(String::new(), |hash| format!(" (executable sha256:{hash})"));
    let anonymised = if verification.anonymised { "; names were replaced before it was signed" } else { "" };
    let made = format!("Made by plumb {}{hash}, by its own statement{anonymised}.", program.version);
    text.push_str(&format!("{}\n\n{}\n", style.wrap(&made, 0), style.ink(Ink::Faint, &style.wrap(LIMITS, 0))));
    text
}

fn signer(verification: &Verification) -> String {
    let signer = &verification.signer;
    let fingerprint = signer.fingerprint.as_deref().unwrap_or("no valid key");
    match &signer.known {
        Some(name) if name.is_empty() => format!("Signer: {fingerprint}, one of your trusted keys."),
        Some(name) => format!("Signer: {fingerprint} ({name})."),
        None => format!(
            "Signer: {fingerprint}, unknown. Ask the sender for their public key by another way, and name it with --key, or keep \
             it in ~/.config/plumb/trusted-keys."
        ),
    }
}
