//! Characterises a file: separate threads read, decode and count the chunks of Plumb's own format.

use super::{Character, Sheet};
use crate::error::TraceError;
use crate::format_reader::Input;
use crate::iolog::Waits;
use crate::names::Names;
use crate::open::{Format, RecordingReader, open_as};
use crate::own::{Chunks, Decoded, Decoder, Facts, Loss, MAGIC, RawChunk};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::thread;

/// Chunks queued between two threads.
const WAITING: usize = 3;

/// Maximum number of decoding threads.
const DECODERS_MAX: usize = 8;

/// Result of decoding a chunk.
type Outcome = Result<Decoded, (u64, &'static str)>;

/// Results of characterising a file.
pub struct Shown {
    pub sheet: Sheet,
    pub format: Format,
    /// Metadata in the file.
    pub facts: Facts,
    /// Parts of the file that could not be read.
    pub losses: Vec<Loss>,
}

/// Characterises a recording.
///
/// # Errors
/// Returns the problem with the recording.
pub fn show(path: &Path, waits: Waits, format: Option<Format>) -> Result<Shown, TraceError> {
    let io = |source| TraceError::Io { path: path.to_owned(), source };
    if format.is_none() || format == Some(Format::Own) {
        let mut file = File::open(path).map_err(io)?;
        let mut head = Vec::new();
        file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut head).map_err(io)?;
        if head == MAGIC {
            let whole: Input = Box::new(BufReader::with_capacity(1 << 20, std::io::Cursor::new(head).chain(file)));
            return chunks(Chunks::new(whole, path)?);
        }
    }
    let mut reader = open_as(path, waits, format)?;
    let mut character = Character::new();
    while let Some(record) = reader.next() {
        let record = record?;
        character.know(reader.names());
        character.add(&record);
    }
    let sheet = character.finish(reader.names());
    Ok(Shown { sheet, format: reader.format().clone(), facts: Facts::default(), losses: Vec::new() })
}

/// Characterises all records, including those on `/dev/null` and the like: models contain them too.
///
/// # Errors
/// Returns the problem with the recording.
pub fn characterise(reader: &mut RecordingReader) -> Result<Sheet, TraceError> {
    let mut character = Character::new();
    for record in reader.by_ref() {
        character.add(&record?);
    }
    Ok(character.finish(reader.names()))
}

fn chunks(mut chunks: Chunks) -> Result<Shown, TraceError> {
    let decoders = thread::available_parallelism().map_or(1, usize::from).saturating_sub(1).clamp(1, DECODERS_MAX);
    let (mut character, mut names) = (Character::new(), Names::default());
    let mut undecoded = Vec::new();
    let (reading, chunks) = thread::scope(|scope| {
        let (mut raw, mut done, mut used) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..decoders {
            let (to_decoder, from_reader) = bounded(WAITING);
            let (to_counter, from_decoder) = bounded(WAITING);
            let (give_back, again) = bounded(WAITING + 2);
            scope.spawn(move || decode(&from_reader, &to_counter, &again));
            raw.push(to_decoder);
            done.push(from_decoder);
            used.push(give_back);
        }
        let reader = scope.spawn(move || {
            let outcome = distribute(&mut chunks, &raw);
            (outcome, chunks)
        });
        // Decoders get chunks in turn, so taking results in turn preserves the order of the file.
        for turn in (0..decoders).cycle() {
            match done[turn].recv() {
                Ok(Ok(mut decoded)) => {
                    let numbers = decoded.numbers(&mut names);
                    character.know(&names);
                    for record in &mut decoded.records {
                        numbers.apply(record);
                        character.add(record);
                    }
                    // Return the buffer for reuse; the decoder may be gone.
                    let _ = used[turn].try_send(decoded);
                }
                Ok(Err((at, reason))) => undecoded.push(Loss { at, reason }),
                Err(_) => break,
            }
        }
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    reading?;
    let mut losses = [chunks.losses(), &undecoded].concat();
    losses.sort_by_key(|loss| loss.at);
    Ok(Shown { sheet: character.finish(&names), format: Format::Own, facts: chunks.facts().clone(), losses })
}

/// Reads chunks, and passes them to decoders in turn.
fn distribute(chunks: &mut Chunks, decoders: &[Sender<RawChunk>]) -> Result<(), TraceError> {
    for turn in (0..decoders.len()).cycle() {
        let Some(chunk) = chunks.next_chunk()? else { break };
        if decoders[turn].send(chunk).is_err() {
            break;
        }
    }
    Ok(())
}

fn decode(chunks: &Receiver<RawChunk>, to_counter: &Sender<Outcome>, used: &Receiver<Decoded>) {
    let mut decoder = Decoder::default();
    for chunk in chunks.iter() {
        let mut decoded = used.try_recv().unwrap_or_default();
        let outcome = match decoder.decode(&chunk, &mut decoded) {
            Ok(()) => Ok(decoded),
            Err(reason) => Err((chunk.at, reason)),
        };
        if to_counter.send(outcome).is_err() {
            return;
        }
    }
}
