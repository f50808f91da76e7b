//! Checks the recipes in `packaging/` that are not published: they parse, and they name the files of this release.

use super::machine::Machine;
use super::programs::{PROGRAMS, Program};
use super::{PACKAGE, image, names, tarball, version};
use crate::tools::{run, workspace};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Parses every recipe like its package manager, as far as possible without installing anything.
pub(super) fn check() -> Result<()> {
    let dir = workspace().join("packaging");
    names::check()?;
    let read = |file: &str| Ok(std::fs::read_to_string(workspace().join(file))?);
    name_this_release(&read)?;
    install_all_programs(&read)?;
    run(quiet("ruby").arg("-c").arg(dir.join("homebrew/plumb-storage.rb")))?;
    let aur = dir.join("aur/PKGBUILD");
    run(Command::new("bash").arg("-n").arg(&aur))?;
    // makepkg reads the variables (SC2034), sets `pkgdir` (SC2154), and stops at the first error (SC2164).
    run(shellcheck("SC2034,SC2154,SC2164").arg(&aur))?;
    for file in ["nix/package.nix", "nix/flake.nix"] {
        // Parsing needs no build users.
        run(quiet("nix-instantiate").env("NIX_CONFIG", "build-users-group =").arg("--parse").arg(dir.join(file)))?;
    }
    let action = yaml(&dir.join("github-action/action.yml"))?;
    let place = tempfile::tempdir()?;
    for (number, script) in scripts(action.first().context("action.yml is empty")?)?.iter().enumerate() {
        let file = place.path().join(format!("step-{number}.sh"));
        std::fs::write(&file, script)?;
        run(shellcheck("SC2148").arg(&file))?;
    }
    job(&yaml(&dir.join("kubernetes/job.yaml"))?)?;
    let play = place.path().join("play.yml");
    std::fs::write(&play, "- hosts: localhost\n  roles: [install, agent, compare]\n")?;
    run(quiet("ansible-playbook")
        .args(["--syntax-check", "--inventory", "localhost,"])
        .arg(&play)
        .env("HOME", place.path())
        .env("ANSIBLE_ROLES_PATH", dir.join("ansible/roles")))?;
    println!("recipes: Homebrew, AUR, Nix, GitHub, Ansible, Kubernetes: each parses and names version {}", version());
    Ok(())
}

fn quiet(name: &str) -> Command {
    let mut command = Command::new(name);
    command.stdout(Stdio::null());
    command
}

fn shellcheck(exclude: &str) -> Command {
    let mut command = Command::new("shellcheck");
    command.args(["--shell", "bash", "--exclude", exclude]);
    command
}

/// Returns the documents of a YAML file.
fn yaml(path: &Path) -> Result<Vec<Value>> {
    let mut ruby = Command::new("ruby");
    ruby.args(["-ryaml", "-rjson", "-e", "puts YAML.load_stream(ARGF.read).to_json"]).arg(path);
    let output = ruby.output().context("ruby")?;
    ensure!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).with_context(|| path.display().to_string())
}

/// Checks that every file that names a version or a file of the release names that of this one.
/// `read` takes a path in the workspace.
fn name_this_release(read: &dyn Fn(&str) -> Result<String>) -> Result<()> {
    let version = version();
    let deb = format!("{PACKAGE}_{version}-1_{}.deb", Machine::X86_64.debian());
    let archives = Machine::ALL.map(|machine| format!("{}.tar.gz", tarball::name(machine)));
    let [intel, arm] = &archives;
    let wheel = format!("{}-{version}-py3-none-manylinux_2_28_x86_64.whl", PACKAGE.replace('-', "_"));
    let expected: [(&str, Vec<String>); 8] = [
        ("packaging/homebrew/plumb-storage.rb", vec![format!("version \"{version}\""), intel.clone(), arm.clone()]),
        ("packaging/aur/PKGBUILD", vec![format!("pkgver={version}\n")]),
        ("packaging/nix/package.nix", vec![format!("version = \"{version}\";")]),
        ("packaging/serve/Containerfile", vec![format!("FROM plumb:{version}\n"), image::name()]),
        ("packaging/kubernetes/job.yaml", vec![format!("image: plumb:{version}\n")]),
        ("packaging/ansible/roles/install/defaults/main.yml", vec![deb.clone()]),
        ("docs/install.md", vec![deb, intel.clone(), image::name(), wheel.clone()]),
        ("docs/python.md", vec![wheel]),
    ];
    for (file, names) in expected {
        contains(&read(file)?, file, &names)?;
    }
    Ok(())
}

/// Checks that every recipe that builds or installs `plumb` does the same with the other programs.
/// `read` takes a path in the workspace.
fn install_all_programs(read: &dyn Fn(&str) -> Result<String>) -> Result<()> {
    for program in &PROGRAMS {
        let Program { name, package, .. } = program;
        let expected = [
            ("packaging/homebrew/plumb-storage.rb", vec![format!("\"{name}\"")]),
            ("packaging/aur/PKGBUILD", vec![format!("--package {package}"), format!(" target/dist/{name} ")]),
            ("packaging/nix/package.nix", vec![format!("\"--package={package}\"")]),
            ("packaging/package.toml", vec![format!("\"{name}\", \"usr/bin/\""), format!("\"/usr/bin/{name}\"")]),
            ("packaging/debug.toml", vec![format!("[\"{name}.debug\""), format!("source = \"{name}.debug\"")]),
        ];
        for (file, words) in expected {
            contains(&read(file)?, file, &words)?;
        }
    }
    Ok(())
}

fn contains(text: &str, file: &str, expected: &[String]) -> Result<()> {
    for part in expected {
        ensure!(text.contains(part), "{file} does not contain `{}`", part.trim());
    }
    Ok(())
}

/// Returns the scripts of a composite action. Each step has one, for bash, and uses only existing inputs of the action.
fn scripts(action: &Value) -> Result<Vec<&str>> {
    let inputs = action["inputs"].as_object().context("action.yml: no inputs")?;
    let steps = action["runs"]["steps"].as_array().context("action.yml: no steps")?;
    let mut scripts = Vec::new();
    for step in steps {
        ensure!(step["shell"] == "bash", "action.yml: a step has no `shell: bash`: {step}");
        scripts.push(step["run"].as_str().with_context(|| format!("action.yml: a step has no `run`: {step}"))?);
        for used in step.to_string().split("inputs.").skip(1) {
            let name: String = used.chars().take_while(|one| one.is_ascii_alphanumeric() || *one == '-').collect();
            ensure!(inputs.contains_key(&name), "action.yml: no input `{name}`");
        }
    }
    ensure!(!scripts.is_empty(), "action.yml: no steps");
    Ok(scripts)
}

/// Checks that the job mounts the claim defined next to it, and that Plumb measures there.
fn job(documents: &[Value]) -> Result<()> {
    let of_kind =
        |kind: &str| documents.iter().find(|one| one["kind"] == kind).with_context(|| format!("job.yaml: no {kind}"));
    let claim = &of_kind("PersistentVolumeClaim")?["metadata"]["name"];
    let pod = &of_kind("Job")?["spec"]["template"]["spec"];
    let volumes = pod["volumes"].as_array().context("job.yaml: no volumes")?;
    let of_claim = volumes.iter().find(|one| one["persistentVolumeClaim"]["claimName"] == *claim);
    let volume = &of_claim.with_context(|| format!("job.yaml: no volume of the claim {claim}"))?["name"];
    let container = &pod["containers"][0];
    let mounts = container["volumeMounts"].as_array().context("job.yaml: no mounts")?;
    let mount = mounts.iter().find(|one| one["name"] == *volume).context("job.yaml: the claim is not mounted")?;
    let arguments = container["args"].as_array().context("job.yaml: no args")?;
    ensure!(arguments.contains(&mount["mountPath"]), "job.yaml: args do not name {}", mount["mountPath"]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{install_all_programs, job, name_this_release, scripts, version, workspace};
    use serde_json::json;

    #[test]
    fn recipes_and_documents_name_this_release() {
        let read = |file: &str| Ok(std::fs::read_to_string(workspace().join(file))?);
        name_this_release(&read).unwrap();
        let later = |file: &str| Ok(read(file)?.replace(version(), "99.0.0"));
        let error = name_this_release(&later).unwrap_err().to_string();
        assert!(error.starts_with("packaging/homebrew/plumb-storage.rb does not contain"), "{error}");
    }

    // Protects: `plumb serve` works wherever a package manager installed Plumb.
    #[test]
    fn recipes_install_the_server_too() {
        let read = |file: &str| Ok(std::fs::read_to_string(workspace().join(file))?);
        install_all_programs(&read).unwrap();
        let without = |file: &str| Ok(read(file)?.replace("plumb-serve", ""));
        let error = install_all_programs(&without).unwrap_err().to_string();
        assert_eq!(error, "packaging/homebrew/plumb-storage.rb does not contain `\"plumb-serve\"`");
    }

    #[test]
    fn an_action_uses_inputs_that_it_has() {
        let action = |used: &str| {
            let step = json!({ "shell": "bash", "run": "plumb", "env": { "AT": format!("${{{{ inputs.{used} }}}}") } });
            json!({ "inputs": { "at": {} }, "runs": { "steps": [step] } })
        };
        assert_eq!(scripts(&action("at")).unwrap(), ["plumb"]);
        assert_eq!(scripts(&action("where")).unwrap_err().to_string(), "action.yml: no input `where`");
        assert!(scripts(&json!({ "inputs": {}, "runs": { "steps": [{ "run": "plumb" }] } })).is_err());
    }

    #[test]
    fn a_job_measures_its_claim() {
        let documents = |measured: &str| {
            let container =
                json!({ "args": ["try", measured], "volumeMounts": [{ "name": "data", "mountPath": "/data" }] });
            let volume = json!({ "name": "data", "persistentVolumeClaim": { "claimName": "plumb" } });
            let pod = json!({ "containers": [container], "volumes": [volume] });
            [
                json!({ "kind": "PersistentVolumeClaim", "metadata": { "name": "plumb" } }),
                json!({ "kind": "Job", "spec": { "template": { "spec": pod } } }),
            ]
        };
        job(&documents("/data")).unwrap();
        assert!(job(&documents("/tmp")).is_err());
        assert!(job(&documents("/data")[..1]).is_err());
    }
}
