//! Reads the requirements of programs, libraries and kernel modules from their
//! files. Sources: elf(5), ld.so(8), modinfo(8).

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, PT_LOAD};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, FileKind, read};

type Header = object::elf::FileHeader64<Endianness>;

/// Requirements of a program or library.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Path of the dynamic loader; `None` for libraries and static programs.
    pub(super) loader: Option<String>,
    /// Names or paths of libraries.
    pub(super) libraries: Vec<String>,
    /// Directories to search first; `$ORIGIN` is the file's own directory.
    pub(super) search: Vec<String>,
}

/// Reads the requirements of a file; `None` if it is not a 64-bit ELF file, such as a script.
pub(super) fn needs(bytes: &[u8]) -> Option<Needs> {
    (FileKind::parse(bytes).ok()? == FileKind::Elf64).then_some(())?;
    read_needs(bytes).ok()
}

fn read_needs(bytes: &[u8]) -> read::Result<Needs> {
    let header = Header::parse(bytes)?;
    let endian = header.endian()?;
    let mut needs = Needs::default();
    for segment in header.program_headers(endian, bytes)? {
        if let Some(path) = segment.interpreter(endian, bytes)? {
            needs.loader = Some(String::from_utf8_lossy(path).into_owned());
        }
    }
    let sections = header.sections(endian, bytes)?;
    let Some((entries, strings)) = sections.dynamic(endian, bytes)? else { return Ok(needs) };
    let strings = sections.strings(endian, bytes, strings)?;
    for entry in entries {
        let tag = entry.tag(endian);
        if ![DT_NEEDED, DT_RPATH, DT_RUNPATH].contains(&tag) {
            continue;
        }
        let text = String::from_utf8_lossy(entry.string(endian, strings)?).into_owned();
        match tag {
            DT_NEEDED => needs.libraries.push(text),
            _ => needs.search.extend(text.split(':').map(str::to_owned)),
        }
    }
    Ok(needs)
}

/// Returns the part of a program that is loaded at run time. The rest of the file, symbols and debug information, is
/// often nine tenths of it. Without those sections, the header must not reference the section table either. Returns a
/// file that is not 64-bit ELF unchanged.
pub(crate) fn loaded_part(bytes: &[u8]) -> Vec<u8> {
    /// Offsets of `e_shoff` and `e_shnum` in the header of a 64-bit file.
    const SECTIONS_OFFSET: std::ops::Range<usize> = 40..48;
    const SECTION_COUNTS: std::ops::Range<usize> = 60..64;
    let end = || -> read::Result<u64> {
        let header = Header::parse(bytes)?;
        let endian = header.endian()?;
        let segments = header.program_headers(endian, bytes)?;
        // Some unloaded segments are read all the same, and none is large.
        let ends = segments.iter().map(|segment| segment.p_offset(endian).saturating_add(segment.p_filesz(endian)));
        let loads = segments.iter().any(|segment| segment.p_type(endian) == PT_LOAD);
        Ok(if loads { ends.max().unwrap_or(u64::MAX) } else { u64::MAX })
    };
    let whole = bytes.len() as u64;
    let kind = FileKind::parse(bytes);
    let end = if matches!(kind, Ok(FileKind::Elf64)) { end().unwrap_or(whole).min(whole) } else { whole };
    let mut part = bytes[..end as usize].to_vec();
    if end < whole && part.len() >= SECTION_COUNTS.end {
        part[SECTIONS_OFFSET].fill(0);
        part[SECTION_COUNTS].fill(0);
    }
    part
}

/// Returns the metadata of a kernel module: keys and values, in order.
pub(super) fn module_facts(bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let header = Header::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, bytes).ok()?;
    let (_, section) = sections.section_by_name(endian, b".modinfo")?;
    let text = section.data(endian, bytes).ok()?;
    let pairs = text.split(|byte| *byte == 0).filter_map(|line| {
        let line = std::str::from_utf8(line).ok()?;
        line.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()))
    });
    Some(pairs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    // Protects: a stripped program still runs, and has the same requirements.
    #[test]
    fn a_program_without_its_unloaded_part_runs() {
        let own = std::env::current_exe().unwrap();
        let bytes = std::fs::read(&own).unwrap();
        let part = loaded_part(&bytes);
        let header = Header::parse(bytes.as_slice()).unwrap();
        let endian = header.endian().unwrap();
        // Debug information may be missing, but a test program has symbols in any build.
        let sections = header.sections(endian, bytes.as_slice()).unwrap();
        let (_, symbols) = sections.section_by_name(endian, b".symtab").unwrap();
        let rest = (bytes.len() - part.len()) as u64;
        assert!(rest >= symbols.sh_size(endian), "{} of {}", part.len(), bytes.len());
        let dir = tempfile::tempdir().unwrap();
        let cut = dir.path().join("cut");
        std::fs::write(&cut, &part).unwrap();
        Command::new("chmod").arg("755").arg(&cut).status().unwrap();
        let output = Command::new(&cut).arg("--list").output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("a_program_without_its_unloaded_part_runs"));
        let needs = needs(&bytes).unwrap();
        assert!(needs.libraries.iter().any(|name| name.starts_with("libc.")), "{needs:?}");
        assert!(needs.loader.is_some());
    }

    #[test]
    fn a_file_that_is_not_a_program_is_returned_unchanged() {
        for bytes in [
            &b"#!/bin/sh\n"[..],
            b"",
            b"\x7fELF",
            b"\x7fELF\x02\x01\x01aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            assert_eq!(loaded_part(bytes), bytes);
            assert!(needs(bytes).is_none());
            assert!(module_facts(bytes).is_none());
        }
    }
}
