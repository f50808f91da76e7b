//! Recognises repeated failures.

/// Kinds of devices whose numbers the kernel assigns arbitrarily.
const DEVICES: [&str; 7] = ["loop", "md", "dm-", "nvme", "zram", "nbd", "ram"];

/// Returns the first line of a failure's reason, without the numbers that differ between plots by chance: those of
/// devices, and those in paths. File systems (`ext3`), sizes and exit codes stay.
pub(crate) fn kind(reason: &str) -> String {
    // The following lines are console or tool output, which contains times.
    reason.lines().next().unwrap_or_default().split(' ').map(kind_of_word).collect::<Vec<String>>().join(" ")
}

fn kind_of_word(word: &str) -> String {
    let name = word.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric() && letter != '/');
    let is_device = DEVICES
        .iter()
        .any(|device| name.strip_prefix(device).is_some_and(|rest| rest.starts_with(|one: char| one.is_ascii_digit())));
    if !is_device && !word.contains('/') {
        return word.to_owned();
    }
    let mut kind = String::with_capacity(word.len());
    for one in word.chars() {
        if !one.is_ascii_digit() || kind.ends_with("ext") {
            kind.push(one);
        } else if !kind.ends_with('#') {
            kind.push('#');
        }
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::kind;

    // Protects: a study ends at the second identical failure, and not because two different ones look alike.
    #[test]
    fn only_arbitrary_numbers_are_removed() {
        let same = [
            ("mkfs.ext4 on /dev/loop3 failed: exit code 1", "mkfs.ext4 on /dev/loop12 failed: exit code 1"),
            ("cannot mount md127 on /run/plumb/plot-3", "cannot mount md126 on /run/plumb/plot-14"),
            ("`dm-3`: busy", "`dm-11`: busy"),
            ("nvme0n1p2 is gone", "nvme1n1p10 is gone"),
            ("it did not boot: panic:\n  [    1.52] a", "it did not boot: panic:\n  [    1.61] b"),
        ];
        for (one, other) in same {
            assert_eq!(kind(one), kind(other));
        }
        let different = [
            ("mkfs.ext3 is missing", "mkfs.ext4 is missing"),
            ("/sbin/mkfs.ext3: not found", "/sbin/mkfs.ext4: not found"),
            ("it ended with exit code 1", "it ended with exit code 32"),
            ("a file of 1 GiB on 512 MiB", "a file of 2 GiB on 512 MiB"),
        ];
        for (one, other) in different {
            assert_ne!(kind(one), kind(other));
        }
    }
}
