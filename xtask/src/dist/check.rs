//! Checks that the release installs, runs, and leaves nothing behind.

use super::clean_root::{CleanRoot, difference};
use super::machine::Machine;
use super::programs::PROGRAMS;
use super::{OLDEST_GLIBC, PACKAGE, compile::program};
use super::{directory, glibc, image, recipes, sbom, serving, stage, sums, tarball, tools, version};
use crate::panics;
use crate::tools::run;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Checks all artifacts for these machines; a missing file is an error.
pub(super) fn all(machines: &[Machine], suite: &str) -> Result<()> {
    tools::provide(&tools::for_machines(tools::TO_CHECK, machines))?;
    recipes::check()?;
    let dir = directory();
    run(Command::new("sha256sum").args(["--check", "--quiet", sums::NAME]).current_dir(&dir))?;
    println!("sums: right");
    sbom::check(&dir)?;
    for machine in machines {
        archive(*machine, &dir)?;
        layout(*machine, &dir)?;
        if machine.is_own() {
            debian(*machine, &dir, suite)?;
            rpm(*machine, &dir)?;
            wheel(*machine, &dir)?;
        } else {
            foreign(*machine, &dir, suite)?;
        }
    }
    runtime(&dir)
}

/// Returns the only file of a release whose name has these parts.
fn file(dir: &Path, parts: [&str; 2]) -> Result<PathBuf> {
    let mut found = sums::files(dir)?;
    found.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.contains(parts[0]) && name.ends_with(parts[1])
    });
    match found.as_slice() {
        [one] => Ok(one.clone()),
        found => bail!("{} files *{}*{} in {}; expected one", found.len(), parts[0], parts[1], dir.display()),
    }
}

/// Installs the package in a clean Debian, measures there, removes it, and compares the files before and after.
fn debian(machine: Machine, dir: &Path, suite: &str) -> Result<()> {
    let package = file(dir, [&format!("{PACKAGE}_"), &format!("{}.deb", machine.debian())])?;
    let debug = file(dir, [&format!("{PACKAGE}-dbgsym_"), &format!("{}.deb", machine.debian())])?;
    let mut root = CleanRoot::unpack(machine, suite)?;
    let before = root.listing()?;
    std::fs::copy(&package, root.path().join("plumb.deb"))?;
    root.succeed(&["dpkg", "--install", "/plumb.deb"])?;
    let installed = difference(&before, &root.listing()?);
    for name in [
        "/usr/bin/plumb",
        "/usr/bin/plumb-serve",
        "/usr/lib/systemd/system/plumb-serve.service",
        "/usr/share/man/man1/plumb-try.1.gz",
        "/usr/share/bash-completion/completions/plumb",
    ] {
        // A minimal Debian may be configured to skip manuals.
        ensure!(installed.iter().any(|line| line.ends_with(name)), "{name} is not installed: {installed:#?}");
    }
    let enabled = installed.iter().find(|line| line.contains(".wants/") || line.contains("/etc/"));
    ensure!(enabled.is_none(), "the installation enables or configures something: {enabled:?}");
    root.mount()?;
    // A minute's work in a second; whatever this machine's checks say about it, it must run and clean up.
    let measure = ["try", "/srv", "--time", "100ms", "--size", "8MiB"];
    let result = serving::check(&|| root.command(&["plumb"]), &measure, "/root/.local/results.db")?;
    let phases = result["phases"].as_array().map_or(0, Vec::len);
    ensure!(phases > 5, "plumb try measured {phases} phases");
    root.unmount()?;
    std::fs::copy(&debug, root.path().join("debug.deb"))?;
    root.succeed(&["dpkg", "--install", "/debug.deb"])?;
    has_debug_information(root.path())?;
    std::fs::remove_file(root.path().join("debug.deb"))?;
    root.succeed(&["dpkg", "--purge", "plumb-storage-dbgsym", PACKAGE])?;
    std::fs::remove_file(root.path().join("plumb.deb"))?;
    // Plumb keeps a registry of its test directories in the user's data directory: that belongs to the user, not to the
    // package.
    let _ = std::fs::remove_dir_all(root.path().join("root/.local"));
    let left = difference(&before, &root.listing()?);
    ensure!(left.is_empty(), "after the removal: {left:#?}");
    println!("deb: installed in Debian {suite}, {phases} phases measured and served, removed, nothing left");
    Ok(())
}

/// Checks that the installed programs have symbols, and that their build ids lead to the installed debug information.
fn has_debug_information(root: &Path) -> Result<()> {
    for one in &PROGRAMS {
        let output = Command::new("gdb")
            .args(["--batch", "--nx", "-ex"])
            .arg(format!("set debug-file-directory {}", root.join("usr/lib/debug").display()))
            .arg("-ex")
            .arg(format!("file {}", root.join("usr/bin").join(one.name).display()))
            .args(["-ex", "info line main"])
            .output()
            .context("gdb")?;
        let ran = String::from_utf8_lossy(&output.stdout);
        ensure!(ran.contains(one.main), "gdb does not find the line of {}'s main: {ran}", one.name);
    }
    Ok(())
}

/// Unpacks the package with rpm, runs it, removes it.
fn rpm(machine: Machine, dir: &Path) -> Result<()> {
    let package = file(dir, [&format!("{PACKAGE}-{}", version()), &format!("{}.rpm", machine.name())])?;
    file(dir, [&format!("{PACKAGE}-debuginfo"), &format!("{}.rpm", machine.name())])?;
    let root = tempfile::tempdir()?;
    let rpm = |words: &[&str]| {
        let mut rpm = Command::new("rpm");
        rpm.arg("--root").arg(root.path()).args(["--dbpath", "/db"]).args(words);
        rpm
    };
    let output = Command::new("rpm").args(["--query", "--requires", "--package"]).arg(&package).output()?;
    let requires = String::from_utf8(output.stdout)?;
    ensure!(requires.contains("glibc >= 2."), "the RPM does not state its glibc: {requires}");
    // This root contains nothing else, not even its dependencies.
    run(rpm(&["--install", "--nodeps"]).arg(&package))?;
    let unit = root.path().join("usr/lib/systemd/system").join(stage::UNIT);
    ensure!(unit.is_file(), "the RPM has no {}", unit.display());
    serves(&root.path().join("usr/bin/plumb"))?;
    run(&mut rpm(&["--erase", "--nodeps", PACKAGE]))?;
    let _ = std::fs::remove_dir_all(root.path().join("db"));
    let left = Command::new("find").arg(root.path()).args(["-name", "*plumb*"]).output()?;
    ensure!(left.stdout.is_empty(), "after the removal: {}", String::from_utf8_lossy(&left.stdout));
    println!(
        "rpm: installed, measured and served, removed, nothing left; it requires {}",
        requires.trim().replace('\n', ", ")
    );
    Ok(())
}

/// Installs the wheel with pip, without an index, runs it, removes it.
fn wheel(machine: Machine, dir: &Path) -> Result<()> {
    let package = file(dir, [machine.name(), ".whl"])?;
    licences(&package)?;
    let place = tempfile::tempdir()?;
    run(Command::new("python3").args(["-m", "venv"]).arg(place.path()))?;
    let pip = |words: &[&str]| {
        let mut pip = Command::new(place.path().join("bin/python"));
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(words);
        pip
    };
    run(pip(&["install", "--no-index"]).arg(&package))?;
    let installed = place.path().join("bin/plumb");
    serves(&installed)?;
    panics::check(&installed)?;
    python_package(&place.path().join("bin/python"), &installed)?;
    run(&mut pip(&["uninstall", "--yes", PACKAGE]))?;
    let left = Command::new("find").arg(place.path()).args(["-iname", "*plumb*"]).output()?;
    ensure!(left.stdout.is_empty(), "after the removal: {}", String::from_utf8_lossy(&left.stdout));
    println!("wheel: installed, measured and served, called from Python, removed, nothing left");
    Ok(())
}

/// Checks that the installed Python package calls the program installed with it.
fn python_package(python: &Path, program: &Path) -> Result<()> {
    let code = "import plumb_storage as ps\n\
                result = ps.run('random-read', at='sim:ssd', time='100ms', store=False, check=False)\n\
                print(ps.program(), ps.version(), result.schema)";
    let output = Command::new(python).args(["-c", code]).env_remove("PLUMB").output().context("python")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = format!("{} {} plumb.result/1\n", program.display(), version());
    ensure!(said == expected, "plumb_storage: {said}{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Checks that a wheel contains both licences.
fn licences(wheel: &Path) -> Result<()> {
    let output = Command::new("python3").args(["-m", "zipfile", "--list"]).arg(wheel).output()?;
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let inside = format!(".dist-info/licenses/{name}");
        ensure!(names.contains(&inside), "{} has no *{inside}:\n{names}", wheel.display());
    }
    Ok(())
}

/// Checks that the archive contains what its README promises, and that its program measures.
fn archive(machine: Machine, dir: &Path) -> Result<()> {
    let archive = file(dir, [&tarball::name(machine), ".tar.gz"])?;
    let place = tempfile::tempdir()?;
    run(Command::new("tar")
        .arg("--extract")
        .arg("--file")
        .arg(&archive)
        .args(["--strip-components=1"])
        .arg("--directory")
        .arg(place.path()))?;
    let files = ["README.md", "LICENSE-MIT", "man/plumb.1.gz", "man/plumb-study-run.1.gz", "completions/_plumb"];
    for name in PROGRAMS.iter().map(|one| one.name).chain(files) {
        ensure!(place.path().join(name).is_file(), "{name} is missing in {}", archive.display());
    }
    let readme = std::fs::read_to_string(place.path().join("README.md"))?;
    ensure!(readme.contains("MPI"), "the README does not say why MPI is absent");
    for one in &PROGRAMS {
        let bytes = std::fs::read(place.path().join(one.name))?;
        ensure!(glibc::oldest(&bytes).is_err(), "{} of {} is not static", one.name, archive.display());
    }
    let plumb = place.path().join("plumb");
    if machine.is_own() {
        serves(&plumb)?;
        panics::check(&plumb)?;
        println!("tarball of {}: complete, its programs measure and serve", machine.name());
    } else {
        measures(machine, &plumb, &[])?;
        run(program(machine, &place.path().join("plumb-serve")).arg("--version"))?;
        println!("tarball of {}: complete, its program measures", machine.name());
    }
    Ok(())
}

/// Checks that this program of this machine measures, and that the server next to it returns the result.
fn serves(plumb: &Path) -> Result<()> {
    let place = tempfile::tempdir()?;
    let database = place.path().join("results.db");
    serving::check(&|| Command::new(plumb), serving::SIMULATED, &database.to_string_lossy())?;
    Ok(())
}

/// Runs a short measurement of a simulated device.
fn measures(machine: Machine, path: &Path, emulator: &[&str]) -> Result<()> {
    let mut command = if emulator.is_empty() {
        program(machine, path)
    } else {
        let mut command = Command::new(machine.emulator());
        command.args(emulator).arg(path);
        command
    };
    let output = command.args(["--no-store", "--json"]).args(serving::SIMULATED).output()?;
    let ran = String::from_utf8_lossy(&output.stderr);
    ensure!(matches!(output.status.code(), Some(0 | 3)), "{}: {}\n{ran}", path.display(), output.status);
    let result: Value = serde_json::from_slice(&output.stdout).context("not JSON")?;
    let rate = result["phases"][0]["metrics"]["read.iops"]["value"].as_f64();
    ensure!(rate.is_some_and(|rate| rate > 0.0), "{}: no rate", path.display());
    Ok(())
}

/// Checks programs for another machine, emulated on that machine's Debian.
fn foreign(machine: Machine, dir: &Path, suite: &str) -> Result<()> {
    let package = file(dir, [&format!("{PACKAGE}_"), &format!("{}.deb", machine.debian())])?;
    let root = CleanRoot::unpack(machine, suite)?;
    run(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(root.path()))?;
    let installed = root.path().join("usr/bin");
    for one in &PROGRAMS {
        let oldest = glibc::oldest(&std::fs::read(installed.join(one.name))?)?;
        ensure!(oldest <= OLDEST_GLIBC, "{}: {}: glibc {oldest}", package.display(), one.name);
    }
    let library = root.path().to_string_lossy();
    measures(machine, &installed.join("plumb"), &["-L", &library])?;
    let mut server = Command::new(machine.emulator());
    run(server.args(["-L", &library]).arg(installed.join("plumb-serve")).arg("--version"))?;
    file(dir, [&format!("{PACKAGE}-{}", version()), &format!("{}.rpm", machine.name())])?;
    licences(&file(dir, [machine.name(), ".whl"])?)?;
    println!("deb of {}: its program measures on {}'s glibc, emulated", machine.name(), suite);
    Ok(())
}

/// Checks that the image has the specified format, and that its programs start with only its own files.
fn layout(machine: Machine, dir: &Path) -> Result<()> {
    let place = tempfile::tempdir()?;
    run(Command::new("tar")
        .arg("--extract")
        .arg("--file")
        .arg(dir.join(image::name()))
        .arg("--directory")
        .arg(place.path()))?;
    let text = |path: PathBuf| -> Result<Value> {
        let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
        Ok(serde_json::from_slice(&bytes)?)
    };
    ensure!(text(place.path().join("oci-layout"))?["imageLayoutVersion"] == "1.0.0", "oci-layout");
    let blob = |descriptor: &Value| -> Result<Vec<u8>> {
        let digest =
            descriptor["digest"].as_str().and_then(|digest| digest.strip_prefix("sha256:")).context("no digest")?;
        let bytes = std::fs::read(place.path().join("blobs/sha256").join(digest))?;
        ensure!(sums::hash_hex(&bytes) == digest && descriptor["size"] == bytes.len(), "{digest} is not what it says");
        Ok(bytes)
    };
    let json = |descriptor: &Value| -> Result<Value> { Ok(serde_json::from_slice(&blob(descriptor)?)?) };
    let index = json(&text(place.path().join("index.json"))?["manifests"][0])?;
    let manifests = index["manifests"].as_array().context("no manifests")?;
    let of_machine = manifests.iter().find(|one| one["platform"]["architecture"] == machine.debian());
    let manifest = json(of_machine.with_context(|| format!("the image has nothing for {}", machine.debian()))?)?;
    let config = json(&manifest["config"])?;
    let description = &config["config"]["Labels"]["org.opencontainers.image.description"];
    ensure!(description.as_str().is_some_and(|text| text.contains("MPI")), "the label does not say why MPI is absent");
    let layers = manifest["layers"].as_array().context("no layers")?;
    let root = place.path().join("root");
    std::fs::create_dir(&root)?;
    for (layer, diff_id) in layers.iter().zip(config["rootfs"]["diff_ids"].as_array().context("no diff_ids")?) {
        let packed = place.path().join("layer.tar.gz");
        std::fs::write(&packed, blob(layer)?)?;
        let plain = Command::new("gzip").args(["--decompress", "--stdout"]).arg(&packed).output()?.stdout;
        ensure!(*diff_id == format!("sha256:{}", sums::hash_hex(&plain)), "a layer is not what the configuration says");
        run(Command::new("tar").arg("--extract").arg("--file").arg(&packed).arg("--directory").arg(&root))?;
    }
    let entry = config["config"]["Entrypoint"][0].as_str().context("no entry point")?;
    ensure!(root.join("usr/bin/plumb-serve").is_file(), "the image has no plumb-serve");
    if machine.is_own() {
        run(Command::new("chroot").arg(&root).args([entry, "--version"]))?;
        serves(&root.join(entry.trim_start_matches('/')))?;
    } else {
        run(program(machine, &root.join(entry.trim_start_matches('/'))).arg("--version"))?;
    }
    println!("image for {}: digests, sizes and layers right, its programs start", machine.debian());
    Ok(())
}

/// Runs the image if a container runtime responds.
fn runtime(dir: &Path) -> Result<()> {
    let answers = |name: &&&str| {
        let mut info = Command::new(name);
        info.arg("info").output().is_ok_and(|output| output.status.success())
    };
    let Some(name) = ["podman", "docker"].iter().find(answers) else {
        println!("image: not run, no container runtime answers here");
        return Ok(());
    };
    run(Command::new(name).args(["load", "--input"]).arg(dir.join(image::name())))?;
    let tag = format!("docker.io/library/plumb:{}", version());
    run(Command::new(name).args(["run", "--rm", &tag, "--version"]))?;
    run(Command::new(name).args(["image", "rm", &tag]))?;
    println!("image: loaded and run by {name}");
    Ok(())
}
