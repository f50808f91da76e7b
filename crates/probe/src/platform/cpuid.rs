//! Asks the processor about hypervisors.
#![allow(unsafe_code)]

use super::Hypervisor;

/// Queries the processor. Source: Intel SDM and AMD APM, CPUID leaf 1 ECX bit 31, and the leaf range 0x4000_0000
/// that both reserve for hypervisors.
#[cfg(target_arch = "x86_64")]
// The intrinsic is unsafe in the oldest supported compiler, and safe in newer ones.
#[allow(unused_unsafe)]
pub(crate) fn hypervisor() -> Hypervisor {
    use std::arch::x86_64::__cpuid;
    // SAFETY: every x86-64 processor has the instruction and leaf 1.
    let features = unsafe { __cpuid(1) };
    if features.ecx & (1 << 31) == 0 {
        return Hypervisor::Absent;
    }
    // SAFETY: as above; the leaf exists if the bit is set.
    let vendor = unsafe { __cpuid(0x4000_0000) };
    let mut name = Vec::with_capacity(12);
    for register in [vendor.ebx, vendor.ecx, vendor.edx] {
        name.extend_from_slice(&register.to_le_bytes());
    }
    Hypervisor::Present(vendor_name(&name))
}

/// Other processors have no such instruction.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn hypervisor() -> Hypervisor {
    Hypervisor::Unknown
}

/// Returns the usual name for a hypervisor's twelve letters; unknown letters unchanged.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
fn vendor_name(letters: &[u8]) -> String {
    let text = String::from_utf8_lossy(letters);
    let text = text.trim_matches(['\0', ' ']);
    let known = match text {
        "KVMKVMKVM" => "kvm",
        "Linux KVM Hv" => "kvm",
        "Microsoft Hv" => "hyper-v",
        "VMwareVMware" => "vmware",
        "XenVMMXenVMM" => "xen",
        "VBoxVBoxVBox" => "virtualbox",
        "TCGTCGTCGTCG" => "qemu",
        "bhyve bhyve" => "bhyve",
        "ACRNACRNACRN" => "acrn",
        "QNXQVMBSQG" => "qnx",
        "SRESRESRESRE" => "sre",
        "prl hyperv" | "lrpepyh vr" => "parallels",
        "" => "unnamed",
        other => other,
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: padded vendor strings are the common case.
    #[test]
    fn vendors_are_named() {
        assert_eq!(vendor_name(b"KVMKVMKVM\0\0\0"), "kvm");
        assert_eq!(vendor_name(b" lrpepyh vr "), "parallels");
        assert_eq!(vendor_name(b"SomethingNew"), "SomethingNew");
        assert_eq!(vendor_name(&[0; 12]), "unnamed");
    }
}
