use crate::check::{Check, Judge, Outcome};
use crate::evidence::RunView;
use plumb_result::Remedy;

pub(crate) static CHECK: Check = Check {
    code: "C14",
    title: "Virtual machine",
    what: "Whether the run was made in a virtual machine, whose disks are the host's software.",
    why: "A hypervisor may cache, ignore flushes, allocate thinly and share the disk. None of it shows from inside, so \
          A5 and A7 matter more there.",
    how: "The hypervisor bit of CPUID and the names in DMI.",
    threshold: "any hypervisor is noted",
    settled: "Nothing to settle: there is no number in it.",
    fix: &[Remedy::words(
        "State the virtual disk's type, cache mode and host; for claims about hardware, run on the host.",
    )],
    judges: &[Judge::Run(examine)],
};

fn examine(view: &RunView<'_>) -> Outcome {
    if view.is_synthetic() {
        return Outcome::NotApplicable;
    }
    match view.observations.environment.virtualisation.as_result() {
        Err(reason) => Outcome::skipped(reason),
        Ok(name) if name == "none" => Outcome::pass("no hypervisor"),
        // The only name that shows emulation: under KVM the processor reports `kvm`.
        Ok(name) if name == "qemu" => Outcome::note(
            name.clone(),
            "Emulated machine (QEMU): speeds mean nothing here; counts of device I/O do.".to_owned(),
        ),
        Ok(name) => Outcome::note(
            name.clone(),
            format!("Virtual machine ({name}): its disks are the host's software, which A5 and A7 see only in part."),
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    #[test]
    fn a_hypervisor_is_noted() {
        assert_eq!(Scene::reading(MIB).virtualisation("none").level("C14"), Some(Level::Pass));
        assert_eq!(Scene::reading(MIB).virtualisation("kvm").level("C14"), Some(Level::Note));
        assert_eq!(Scene::reading(MIB).virtualisation("qemu").level("C14"), Some(Level::Note));
        assert_eq!(Scene::reading(MIB).unseen_virtualisation("no CPUID").level("C14"), Some(Level::Skipped));
    }
}
