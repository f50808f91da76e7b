//! What the targets share.

/// What stands between the words of a command line, and before a file that one of them names.
const WORD_END: char = '\n';
const FILE_BEGIN: &str = "\n\n";

/// A command line and the text of any file that it names: words, a line each, and behind an empty line the file.
pub fn words_and_file(data: &str) -> (Vec<String>, &str) {
    let (words, file) = data.split_once(FILE_BEGIN).unwrap_or((data, ""));
    (words.split(WORD_END).map(str::to_owned).collect(), file)
}
