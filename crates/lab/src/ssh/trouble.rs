//! Why ssh does not reach a host, from what it says: its client writes a line or a page, of which one thing matters.

/// Why ssh does not reach a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Another key than the one that is known. ssh names the command that forgets the old one.
    HostKeyChanged {
        /// `ssh-keygen -f … -R …`.
        forget: Option<String>,
    },
    /// No key is known, and nobody is asked whether this one is right.
    HostKeyUnknown,
    /// None of the user's keys is accepted.
    LoginRefused {
        /// `publickey,password`.
        methods: Option<String>,
    },
    /// No address belongs to the name.
    NameUnknown,
    /// Nothing listens on the port.
    ConnectionRefused,
    /// Nothing answers.
    TimedOut,
    /// No way leads there.
    Unreachable,
}

impl Trouble {
    /// What the words of ssh(1) say; `None` where they are about something else. Source: OpenSSH's `sshconnect.c`,
    /// `sshconnect2.c` and `ssh.c`, versions 9.2 and 10.0.
    pub(super) fn of_words(lines: &[&str]) -> Option<Trouble> {
        let has = |text: &str| lines.iter().any(|line| line.contains(text));
        if has("HOST IDENTIFICATION HAS CHANGED") {
            let forget = lines.iter().find_map(|line| Some(&line[line.find("ssh-keygen ")?..]));
            return Some(Trouble::HostKeyChanged { forget: forget.map(str::to_owned) });
        }
        if has("Host key verification failed") || has("host key is known for") {
            return Some(Trouble::HostKeyUnknown);
        }
        if let Some(line) = lines.iter().rev().find(|line| line.contains("Permission denied (")) {
            let methods = line.split_once("Permission denied (").and_then(|(_, rest)| rest.split_once(')'));
            return Some(Trouble::LoginRefused { methods: methods.map(|(methods, _)| methods.to_owned()) });
        }
        if has("Too many authentication failures") {
            return Some(Trouble::LoginRefused { methods: None });
        }
        let causes: [(Trouble, &[&str]); 4] = [
            (Trouble::NameUnknown, &["Could not resolve hostname"]),
            (Trouble::ConnectionRefused, &["Connection refused"]),
            (Trouble::TimedOut, &["Connection timed out", "Operation timed out", "timed out during banner exchange"]),
            (Trouble::Unreachable, &["No route to host", "Network is unreachable"]),
        ];
        causes.into_iter().find(|(_, words)| words.iter().any(|words| has(words))).map(|(trouble, _)| trouble)
    }

    /// Whether trying again in a moment may help.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Trouble::ConnectionRefused | Trouble::TimedOut | Trouble::Unreachable)
    }

    /// In one sentence, the cause first, then the way out. `to` is the destination as it is written.
    pub(super) fn sentence(&self, to: &str) -> String {
        match self {
            Trouble::HostKeyChanged { forget } => {
                let forget = forget.as_deref().unwrap_or("ssh-keygen -R HOST");
                format!(
                    "{to}: its host key is not the one that is known; if it was installed anew, forget the old key: {forget}"
                )
            }
            Trouble::HostKeyUnknown => {
                format!("{to}: its host key is not known here; connect once by hand and check it: ssh {to}")
            }
            Trouble::LoginRefused { methods } => {
                let methods = methods.as_ref().map_or(String::new(), |methods| format!(" (it takes {methods})"));
                format!(
                    "{to}: the login is refused{methods}; `ssh -o BatchMode=yes {to} true` must work, without a password"
                )
            }
            Trouble::NameUnknown => {
                format!("{to}: no such host name; check `ssh = \"{to}\"` in the study and ~/.ssh/config")
            }
            Trouble::ConnectionRefused => format!("{to}: connection refused; start its ssh server, or check the port"),
            Trouble::TimedOut => format!("{to}: no answer in time; check that it is up and that no firewall drops ssh"),
            Trouble::Unreachable => format!("{to}: the network does not reach it; check its address and the route"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGED: [&str; 6] = [
        "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @",
        "IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!",
        "Offending ED25519 key in /home/me/.ssh/known_hosts:3",
        "  remove with:",
        "  ssh-keygen -f \"/home/me/.ssh/known_hosts\" -R \"box\"",
        "Host key verification failed.",
    ];

    // Protects: the cause is named in one line, whatever page ssh writes about it.
    #[test]
    fn each_cause_is_one_sentence() {
        let cases: [(&[&str], &str, bool); 9] = [
            (
                &CHANGED,
                "host key is not the one that is known; if it was installed anew, forget the old key: ssh-keygen -f",
                false,
            ),
            (
                &["Host key verification failed."],
                "host key is not known here; connect once by hand and check it: ssh root@box",
                false,
            ),
            (
                &["root@box: Permission denied (publickey,password)."],
                "login is refused (it takes publickey,password)",
                false,
            ),
            (
                &["Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures"],
                "login is refused;",
                false,
            ),
            (&["ssh: Could not resolve hostname box: Name or service not known"], "no such host name", false),
            (&["Warning: added", "ssh: connect to host box port 22: Connection refused"], "connection refused", true),
            (&["ssh: connect to host box port 22: Connection timed out"], "no answer in time", true),
            (&["Connection timed out during banner exchange"], "no answer in time", true),
            (&["ssh: connect to host box port 22: No route to host"], "the network does not reach it", true),
        ];
        for (words, expected, may_pass) in cases {
            let trouble = Trouble::of_words(words).unwrap();
            let said = trouble.sentence("root@box");
            assert!(said.starts_with("root@box: ") && said.contains(expected) && !said.contains('\n'), "{said}");
            assert_eq!(trouble.may_pass(), may_pass, "{said}");
        }
        assert_eq!(Trouble::of_words(&["sh: 1: /tmp/x: not found"]), None);
    }
}
