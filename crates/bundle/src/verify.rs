//! Checks a bundle: what is intact, who signed it, and what follows from its evidence.

use crate::contents::RunFiles;
use crate::recompute::{self, Answer};
use crate::signature::Signature;
use crate::{Contents, NamedKey, Part, Program, PublicKey, sha256};
use plumb_result::{RunResult, RunVerdict, reader};
use serde::Serialize;

/// Name and version of the JSON form of a verification.
pub const VERIFY_SCHEMA: &str = "plumb.verify/1";

/// A question about a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// Whether each file has the size and the hash of the manifest.
    Files,
    /// Whether the manifest's signature is valid.
    Signature,
    /// Whether one of the expected keys made it.
    Signer,
    /// Whether the result can be read.
    Result,
    /// Whether the verdict follows from the findings.
    Verdict,
    /// Whether latencies follow from the histograms.
    Latencies,
    /// Whether rates fit the work and the time.
    Rates,
    /// Whether the series over time can be read and fit the work.
    Series,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was checked and is true.
    Holds,
    /// It was checked and is false.
    Fails,
    /// It could not be checked.
    NotChecked,
}

/// A question with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub question: Question,
    /// Id of the run that it is about; absent for the whole bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    pub outcome: Outcome,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Signer {
    /// The public key, as the manifest has it.
    pub key: String,
    /// SHA-256 of the key; absent if it is malformed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Name of the owner by the keys that the reader trusts; absent if the key is not among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
}

/// A run in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifiedRun {
    pub id: String,
    pub workload: String,
    /// Start of the run, RFC 3339.
    pub started_at: String,
    /// Version of the program that measured it.
    pub tool: String,
    /// The verdict that the result states.
    pub verdict: RunVerdict,
}

/// The result of checking a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Name and version of this form: `plumb.verify/1`.
    pub schema: &'static str,
    pub valid: bool,
    pub signer: Signer,
    /// The program that made the bundle, by its own statement.
    pub program: Program,
    /// Whether names were replaced before signing.
    pub anonymised: bool,
    /// The runs whose results can be read.
    pub runs: Vec<VerifiedRun>,
    pub checks: Vec<Check>,
}

/// Checks everything of a bundle that can be checked offline. `trusted` has the keys that the reader knows. If `expected` is
/// given, only these keys are accepted.
pub fn verify(contents: &Contents<'_>, trusted: &[NamedKey], expected: Option<&[NamedKey]>) -> Verification {
    let manifest = &contents.manifest;
    let key = PublicKey::parse(&manifest.signer).ok();
    let known =
        |keys: &[NamedKey]| keys.iter().find(|known| Some(known.key.bytes) == key.map(|key| key.bytes)).cloned();
    let owner = expected.and_then(known).or_else(|| known(trusted));
    let mut checks = vec![
        check(Question::Files, None, files(contents)),
        check(Question::Signature, None, signature(contents, key.as_ref())),
    ];
    if let Some(expected) = expected {
        checks.push(check(Question::Signer, None, signer(known(expected).is_some())));
    }
    let mut runs = Vec::new();
    for files in contents.runs() {
        let run = Some(files.id.to_owned());
        let result = match read_result(&files) {
            Ok(result) => result,
            Err(reason) => {
                let answer = Answer::fails(format!("the result cannot be read: {reason}"));
                checks.push(check(Question::Result, run, answer));
                continue;
            }
        };
        let read = format!("the result can be read ({}, phases: {})", result.schema, result.phases.len());
        checks.push(check(Question::Result, run.clone(), Answer { outcome: Outcome::Holds, text: read }));
        checks.push(check(Question::Verdict, run.clone(), recompute::verdict(&result)));
        checks.push(check(Question::Latencies, run.clone(), recompute::latencies(&result, &files)));
        checks.push(check(Question::Rates, run.clone(), recompute::rates(&result)));
        checks.push(check(Question::Series, run, recompute::series(&result, &files)));
        runs.push(VerifiedRun {
            id: result.id.clone(),
            workload: result.workload.name.clone(),
            started_at: result.started_at.clone(),
            tool: format!("{} {}", result.tool.name, result.tool.version).trim_end().to_owned(),
            verdict: result.verdict,
        });
    }
    Verification {
        schema: VERIFY_SCHEMA,
        valid: checks.iter().all(|check| check.outcome != Outcome::Fails),
        signer: Signer {
            key: manifest.signer.clone(),
            fingerprint: key.map(|key| key.fingerprint().to_string()),
            known: owner.map(|owner| owner.name),
        },
        program: manifest.program.clone(),
        anonymised: manifest.anonymised,
        runs,
        checks,
    }
}

fn check(question: Question, run: Option<String>, answer: Answer) -> Check {
    Check { question, run, outcome: answer.outcome, text: answer.text }
}

fn files(contents: &Contents<'_>) -> Answer {
    let is_wrong = |(part, bytes): &(&Part, &[u8])| part.bytes != bytes.len() as u64 || part.sha256 != sha256(bytes);
    let wrong: Vec<&str> = contents.parts().filter(is_wrong).map(|(part, _)| part.file.as_str()).collect();
    match wrong.as_slice() {
        [] => {
            let count = contents.manifest.parts.len();
            Answer { outcome: Outcome::Holds, text: format!("{count} files have the size and SHA-256 of the manifest") }
        }
        [first, rest @ ..] => {
            let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
            Answer::fails(format!("not the bytes that were signed: {first}{more}"))
        }
    }
}

fn signature(contents: &Contents<'_>, key: Option<&PublicKey>) -> Answer {
    let signature = std::str::from_utf8(contents.signature).ok().and_then(Signature::parse);
    match (signature, key) {
        (_, None) => Answer::fails("the manifest names no valid public key".to_owned()),
        (None, _) => Answer::fails("the signature is malformed".to_owned()),
        (Some(signature), Some(key)) if signature.is_of(contents.manifest_bytes, key) => {
            Answer { outcome: Outcome::Holds, text: "the manifest's signature is valid".to_owned() }
        }
        _ => Answer::fails("the manifest's signature is wrong: someone changed the manifest or the key".to_owned()),
    }
}

fn signer(is_expected: bool) -> Answer {
    match is_expected {
        true => Answer { outcome: Outcome::Holds, text: "the key is the one of --key".to_owned() },
        false => Answer::fails("another key than that of --key signed it".to_owned()),
    }
}

fn read_result(files: &RunFiles<'_>) -> Result<RunResult, String> {
    let mut results = reader::read(files.result).map_err(|error| error.to_string())?;
    match (results.pop(), results.is_empty()) {
        (Some(result), true) if result.id == files.id => Ok(result),
        (Some(_), true) => Err("it has another id than its manifest says".to_owned()),
        _ => Err("it is not one result".to_owned()),
    }
}
