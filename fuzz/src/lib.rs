//! Shared parts of the targets.

/// Separates the words of a command line; an empty line precedes the text of a file that one of them names.
const WORD_END: char = '\n';
const FILE_BEGIN: &str = "\n\n";

/// Splits input into a command line and the text of the file that it names: one word per line, then an empty line, then the file.
pub fn words_and_file(data: &str) -> (Vec<String>, &str) {
    let (words, file) = data.split_once(FILE_BEGIN).unwrap_or((data, ""));
    (words.split(WORD_END).map(str::to_owned).collect(), file)
}
