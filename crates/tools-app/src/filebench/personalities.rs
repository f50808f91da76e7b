//! Workloads that come with Plumb under the names of Filebench's personalities. They are written from the published
//! parameters, and have the variables that users know.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Personality {
    /// Name that users type.
    pub name: &'static str,
    /// The script, in Filebench's language.
    pub script: &'static str,
}

impl Personality {
    /// Returns a description in one sentence: the comment at the start of the script.
    pub fn about(&self) -> String {
        let comment = self.script.lines().take_while(|line| line.starts_with('#'));
        let text = comment.map(|line| line.trim_start_matches('#').trim()).collect::<Vec<_>>().join(" ");
        text.split('.').next().unwrap_or_default().to_owned()
    }
}

macro_rules! personalities {
    ($($name:literal),* $(,)?) => {
        pub const PERSONALITIES: &[Personality] = &[$(Personality {
            name: $name,
            script: include_str!(concat!("personalities/", $name, ".f")),
        }),*];
    };
}

personalities! {
    "copyfiles", "createfiles", "dss", "fileserver", "mongo", "netsfs", "oltp", "randomread", "randomwrite", "varmail",
    "videoserver", "webproxy", "webserver",
}
