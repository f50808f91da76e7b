//! The name under which package indexes have Plumb. `plumb` belongs to other projects on PyPI and crates.io, so that no
//! recipe or page may install that name from an index.

use crate::tools::workspace;
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Name of the packages. Their command is `plumb`, and their Python module is `plumb_storage`.
pub const PACKAGE: &str = "plumb-storage";

/// The name that other projects have.
const FOREIGN: &str = "plumb";

/// Commands that install a package, or run it, by its name in an index. Options may be between the words.
const INSTALLERS: &[&[&str]] = &[
    &["pip", "install"],
    &["pip3", "install"],
    &["pipx", "install"],
    &["pipx", "run"],
    &["uv", "add"],
    &["uv", "install"],
    &["uvx"],
    &["cargo", "add"],
    &["cargo", "install"],
    &["cargo", "binstall"],
    &["brew", "install"],
    &["pacman", "-S"],
    &["yay", "-S"],
    &["paru", "-S"],
    &["apt", "install"],
    &["apt-get", "install"],
    &["dnf", "install"],
    &["zypper", "install"],
    &["nix-env"],
    &["nix", "run"],
    &["nix", "shell"],
    &["nix", "profile"],
];

/// Lines that give a package its name, by file.
const RECIPES: &[(&str, &str)] = &[
    ("packaging/wheel/pyproject.toml", "name = \"plumb-storage\""),
    ("crates/plumb/Cargo.toml", "name = \"plumb-storage\""),
    ("packaging/package.toml", "name = \"plumb-storage\""),
    ("packaging/debug.toml", "depends = \"plumb-storage (= @VERSION@-1)\""),
    ("packaging/homebrew/plumb-storage.rb", "class PlumbStorage < Formula"),
    ("packaging/aur/PKGBUILD", "pkgname=plumb-storage"),
    ("packaging/nix/package.nix", "  pname = \"plumb-storage\";"),
    ("packaging/github-action/action.yml", "    default: plumb-storage"),
];

/// Folders with recipes, pages and messages.
const FOLDERS: &[&str] = &[".", ".ci", ".github", "crates", "docs", "examples", "packaging", "studies", "xtask"];

/// Endings of the names of files that may contain commands for people or runners.
const KINDS: &[&str] = &["md", "rs", "toml", "yml", "yaml", "rb", "nix", "py", "pyi", "ipynb", "sh", "json"];

/// Checks the names of the recipes, and that no file of the tree installs another project's package.
///
/// # Errors
///
/// The first file and line that is wrong.
pub(super) fn check() -> Result<()> {
    for (file, line) in RECIPES {
        let text = std::fs::read_to_string(workspace().join(file)).with_context(|| (*file).to_owned())?;
        ensure!(text.lines().any(|one| one == *line), "{file} needs the line `{line}`");
    }
    for folder in FOLDERS {
        for file in files(&workspace().join(folder), *folder == ".")? {
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            for (number, line) in text.lines().enumerate() {
                ensure!(
                    !installs_foreign(line),
                    "{}:{}: this installs another project's package; the name of Plumb's is {PACKAGE}: {}",
                    file.display(),
                    number + 1,
                    line.trim()
                );
            }
        }
    }
    Ok(())
}

/// Returns the files to search: those of a folder and of all folders in it, or only its own.
fn files(folder: &Path, only_own: bool) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            if !only_own {
                files.extend(self::files(&path, false)?);
            }
        } else if path.extension().is_none_or(|end| KINDS.iter().any(|kind| OsStr::new(kind) == end)) {
            files.push(path);
        }
    }
    Ok(files)
}

/// Returns `true` if a command in this line installs the package of the foreign name.
fn installs_foreign(line: &str) -> bool {
    // Few of the tree's lines name it, and only those are worth splitting.
    if !line.contains(FOREIGN) {
        return false;
    }
    // A command ends with its code span or where a shell ends it.
    line.split(['`', '|', ';', '&']).any(|command| {
        let words: Vec<&str> = command.split_whitespace().map(bare).collect();
        INSTALLERS.iter().any(|installer| {
            let Some(start) = words.iter().position(|word| *word == installer[0]) else { return false };
            let rest = &words[start + 1..];
            let all_there = installer[1..].iter().all(|needed| rest.contains(needed));
            all_there && rest.iter().any(|word| is_foreign(word))
        })
    })
}

/// Returns a word without quotation marks and punctuation.
fn bare(word: &str) -> &str {
    word.trim_matches(|one: char| !one.is_alphanumeric() && one != '-' && one != '/' && one != '.')
        .trim_end_matches('.')
}

/// Returns `true` for the foreign name, also with a version, an extra, or Nix's collection in front.
fn is_foreign(word: &str) -> bool {
    let name = word.split(['[', '=', '<', '>', '~', '!', '@']).next().unwrap_or(word);
    name == FOREIGN
        || name.rsplit_once(['#', '.']).is_some_and(|(nixpkgs, name)| {
            name == FOREIGN && nixpkgs.rsplit('/').next().is_some_and(|last| last.contains("nix"))
        })
}

#[cfg(test)]
mod tests {
    use super::{FOREIGN, check, installs_foreign};

    // Protects users from other projects' programs: `plumb` on PyPI and crates.io is not this one.
    #[test]
    fn no_file_installs_a_foreign_package() {
        check().unwrap();
    }

    #[test]
    fn commands_that_install_a_foreign_package_are_found() {
        let foreign = [
            "pip install NAME",
            "Try `python3 -m pip install --quiet 'NAME==1.2.5'` first",
            "pip install \"NAME[pandas]\"",
            "run: uv tool install NAME",
            "uvx NAME try .",
            "cargo install NAME --locked",
            "brew install NAME && plumb try .",
            "yay -S NAME",
            "sudo apt-get install --yes fio NAME",
            "nix run nixpkgs#NAME -- try .",
            "nix-env -iA nixpkgs.NAME",
        ];
        for line in foreign {
            assert!(installs_foreign(&line.replace("NAME", FOREIGN)), "{line}");
            assert!(!installs_foreign(&line.replace("NAME", "plumb-storage")), "{line}");
        }
    }

    // Protects: pages may name the command next to an installation of something else.
    #[test]
    fn other_commands_are_left_alone() {
        let harmless = [
            "pip install ./plumb_storage-0.1.0-py3-none-manylinux_2_28_x86_64.whl",
            "`pip install FILE.whl` puts `plumb` on the path",
            "cargo install --path crates/plumb --profile dist",
            "apt install ./plumb-storage_0.1.0-1_amd64.deb; plumb try .",
            "nix build ./packaging/nix",
            "brew install fio && plumb try .",
            "plumb run random-read",
        ];
        for line in harmless {
            assert!(!installs_foreign(line), "{line}");
        }
    }
}
