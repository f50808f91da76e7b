//! Reasons why ssh cannot reach a host, from its client's messages.

/// Reason why ssh cannot reach a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The host key differs from the known one. ssh prints the command that removes the old key.
    HostKeyChanged {
        /// The command `ssh-keygen -f … -R …`.
        forget: Option<String>,
    },
    /// The host key is unknown, and in batch mode ssh cannot ask whether to accept it.
    HostKeyUnknown,
    /// The host accepts none of the user's keys.
    LoginRefused {
        /// Accepted methods, such as `publickey,password`.
        methods: Option<String>,
    },
    /// The name has no address.
    NameUnknown,
    /// Nothing listens on the port.
    ConnectionRefused,
    /// Nothing answers in time.
    TimedOut,
    /// There is no route to the host.
    Unreachable,
}

impl Trouble {
    /// Classifies the messages of ssh(1); `None` if they are about something else. Source: OpenSSH's `sshconnect.c`,
    /// `sshconnect2.c` and `ssh.c`, versions 9.2 and 10.0.
    pub(super) fn parse(lines: &[&str]) -> Option<Trouble> {
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

    /// Whether a retry in a moment may succeed.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Trouble::ConnectionRefused | Trouble::TimedOut | Trouble::Unreachable)
    }

    /// Formats one sentence: the cause first, then the way out. `to` is the destination as written.
    pub(super) fn sentence(&self, to: &str) -> String {
        match self {
            Trouble::HostKeyChanged { forget } => {
                let forget = forget.as_deref().unwrap_or("ssh-keygen -R HOST");
                format!("{to}: its host key has changed; if the host was reinstalled, remove the old key: {forget}")
            }
            Trouble::HostKeyUnknown => {
                format!("{to}: its host key is unknown; connect once by hand and check it: ssh {to}")
            }
            Trouble::LoginRefused { methods } => {
                let methods = methods.as_ref().map_or(String::new(), |methods| format!(" (it accepts {methods})"));
                format!(
                    "{to}: the login is refused{methods}; `ssh -o BatchMode=yes {to} true` must work, without a password"
                )
            }
            Trouble::NameUnknown => {
                format!("{to}: no such host name; check its spelling, ~/.ssh/config and the name server")
            }
            Trouble::ConnectionRefused => format!("{to}: connection refused; start its ssh server, or check the port"),
            Trouble::TimedOut => format!("{to}: no answer in time; check that it is up and that no firewall drops ssh"),
            Trouble::Unreachable => format!("{to}: no route; check its address and the network"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGED_HOST_KEY: [&str; 6] = [
        "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @",
        "IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!",
        "Offending ED25519 key in /home/me/.ssh/known_hosts:3",
        "  remove with:",
        "  ssh-keygen -f \"/home/me/.ssh/known_hosts\" -R \"box\"",
        "Host key verification failed.",
    ];

    // Protects: however long ssh's message is, the cause is one line.
    #[test]
    fn each_cause_is_one_sentence() {
        let cases: [(&[&str], &str, bool); 9] = [
            (
                &CHANGED_HOST_KEY,
                "host key has changed; if the host was reinstalled, remove the old key: ssh-keygen -f",
                false,
            ),
            (
                &["Host key verification failed."],
                "host key is unknown; connect once by hand and check it: ssh root@box",
                false,
            ),
            (
                &["root@box: Permission denied (publickey,password)."],
                "login is refused (it accepts publickey,password)",
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
            (&["ssh: connect to host box port 22: No route to host"], "no route; check its address", true),
        ];
        for (words, expected, may_pass) in cases {
            let trouble = Trouble::parse(words).unwrap();
            let sentence = trouble.sentence("root@box");
            assert!(
                sentence.starts_with("root@box: ") && sentence.contains(expected) && !sentence.contains('\n'),
                "{sentence}"
            );
            assert_eq!(trouble.may_pass(), may_pass, "{sentence}");
        }
        assert_eq!(Trouble::parse(&["sh: 1: /tmp/x: not found"]), None);
    }
}
