//! The log of ops: two objects per op, one at its start and one at its end.

/// One op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedCall<'a> {
    /// The rank of its thread.
    pub rank: u32,
    /// The call, such as `pwrite`.
    pub name: &'a str,
    /// On what: a path.
    pub entry: &'a str,
    /// Where, bytes.
    pub offset: u64,
    /// How much, bytes.
    pub length: u64,
}

/// Whether an op begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It begins.
    Begin,
    /// It is over, and all is well.
    Done,
    /// It has failed.
    Failed,
}

/// The line of one moment of an op; `date` is local time.
pub fn line(date: &str, call: &LoggedCall<'_>, moment: Moment) -> String {
    let LoggedCall { rank, name, entry, offset, length } = *call;
    let entry = serde_json::Value::from(entry);
    let (finished, failed) = (moment != Moment::Begin, moment == Moment::Failed);
    format!(
        "{{ \"date\": \"{date}\", \"worker_rank\": {rank}, \"op_name\": \"{name}\", \"entry_name\": {entry}, \"offset\": \
         {offset}, \"length\": {length}, \"is_finished\": {finished}, \"is_error\": {failed} }}\n"
    )
}
