//! The log of ops: two objects per op, one at its start and one at its end.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedCall<'a> {
    pub rank: u32,
    /// System call, such as `pwrite`.
    pub name: &'a str,
    /// Path that the op works on.
    pub entry: &'a str,
    /// Offset, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub length: u64,
}

/// Start or end of an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Begin,
    Done,
    Failed,
}

/// Formats the line of one moment of an op. `date` is local time.
pub fn line(date: &str, call: &LoggedCall<'_>, moment: Moment) -> String {
    let LoggedCall { rank, name, entry, offset, length } = *call;
    let entry = serde_json::Value::from(entry);
    let (finished, failed) = (moment != Moment::Begin, moment == Moment::Failed);
    format!(
        "{{ \"date\": \"{date}\", \"worker_rank\": {rank}, \"op_name\": \"{name}\", \"entry_name\": {entry}, \"offset\": \
         {offset}, \"length\": {length}, \"is_finished\": {finished}, \"is_error\": {failed} }}\n"
    )
}
