//! Reads devices' health logs with read-only commands. Sources: NVM Express Base Specification 2.0, 5.16 "Get Log
//! Page command"; include/uapi/linux/nvme_ioctl.h; ATA/ATAPI Command Set (ACS-4), 7.22 READ LOG EXT and 7.47 SMART;
//! SAT-4, 12.2.2 "ATA PASS-THROUGH (16)"; include/scsi/sg.h.
#![allow(unsafe_code)]

use crate::error::ProbeError;
use rustix::fs::OFlags;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Length of every page read here.
pub(crate) const PAGE_BYTES: usize = 512;

/// A page of an ATA device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtaPage {
    /// SMART READ DATA: the table of attributes.
    SmartData,
    /// A page of a general purpose log.
    Log { address: u8, page: u8 },
}

/// Time limit for a device, ms: a sleeping one must spin up first.
const TIMEOUT_MS: u32 = 20_000;

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Default)]
struct NvmeCommand {
    opcode: u8,
    flags: u8,
    rsvd1: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    addr: u64,
    metadata_len: u32,
    data_len: u32,
    cdw10: u32,
    cdw11: u32,
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    timeout_ms: u32,
    result: u32,
}

/// Reads the SMART / Health Information log (02h) of an NVMe namespace's controller. Needs root.
pub(crate) fn nvme_health_log(device: &str) -> Result<[u8; PAGE_BYTES], ProbeError> {
    const ADMIN: rustix::ioctl::Opcode = rustix::ioctl::opcode::read_write::<NvmeCommand>(b'N', 0x41);
    const GET_LOG_PAGE: u8 = 0x02;
    const HEALTH: u32 = 0x02;
    const ALL_NAMESPACES: u32 = 0xFFFF_FFFF;
    let file = open(device)?;
    let mut page = [0u8; PAGE_BYTES];
    let mut command = NvmeCommand {
        opcode: GET_LOG_PAGE,
        nsid: ALL_NAMESPACES,
        addr: page.as_mut_ptr() as u64,
        data_len: PAGE_BYTES as u32,
        // Number of dwords minus one, then the log's identifier.
        cdw10: ((PAGE_BYTES as u32 / 4 - 1) << 16) | HEALTH,
        timeout_ms: TIMEOUT_MS,
        ..NvmeCommand::default()
    };
    // SAFETY: the command has the address and length of the page. Both outlive the call, and
    // the kernel writes no more.
    let code = unsafe { libc::ioctl(file.as_raw_fd(), ADMIN as _, std::ptr::from_mut(&mut command)) };
    match code {
        0 => Ok(page),
        code if code > 0 => {
            Err(ProbeError::unavailable(device, format!("answers its health log with NVMe status {code:#x}")))
        }
        _ => Err(ProbeError::unanswered(format!("the health log of {device}"))(io::Error::last_os_error())),
    }
}

/// `struct sg_io_hdr`.
#[repr(C)]
struct SgIo {
    interface_id: i32,
    dxfer_direction: i32,
    cmd_len: u8,
    mx_sb_len: u8,
    iovec_count: u16,
    dxfer_len: u32,
    dxferp: *mut libc::c_void,
    cmdp: *const u8,
    sbp: *mut u8,
    timeout: u32,
    flags: u32,
    pack_id: i32,
    usr_ptr: *mut libc::c_void,
    status: u8,
    masked_status: u8,
    msg_status: u8,
    sb_len_wr: u8,
    host_status: u16,
    driver_status: u16,
    resid: i32,
    duration: u32,
    info: u32,
}

/// Reads one page of an ATA device. Needs root.
pub(crate) fn ata_page(device: &str, wanted: AtaPage) -> Result<[u8; PAGE_BYTES], ProbeError> {
    const SG_IO: u64 = 0x2285;
    const FROM_DEVICE: i32 = -3;
    let file = open(device)?;
    let mut page = [0u8; PAGE_BYTES];
    let mut sense = [0u8; 64];
    let command = pass_through(wanted);
    let mut request = SgIo {
        interface_id: i32::from(b'S'),
        dxfer_direction: FROM_DEVICE,
        cmd_len: command.len() as u8,
        mx_sb_len: sense.len() as u8,
        iovec_count: 0,
        dxfer_len: PAGE_BYTES as u32,
        dxferp: page.as_mut_ptr().cast(),
        cmdp: command.as_ptr(),
        sbp: sense.as_mut_ptr(),
        timeout: TIMEOUT_MS,
        flags: 0,
        pack_id: 0,
        usr_ptr: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        msg_status: 0,
        sb_len_wr: 0,
        host_status: 0,
        driver_status: 0,
        resid: 0,
        duration: 0,
        info: 0,
    };
    // SAFETY: the request holds the addresses and lengths of command, page and sense, all of which outlive the call.
    let code = unsafe { libc::ioctl(file.as_raw_fd(), SG_IO as _, std::ptr::from_mut(&mut request)) };
    if code < 0 {
        return Err(ProbeError::unanswered(format!("the health data of {device}"))(io::Error::last_os_error()));
    }
    if request.status != 0 || request.host_status != 0 || request.resid != 0 {
        let why = format!("does not answer to SMART (SCSI status {:#x})", request.status);
        return Err(ProbeError::unavailable(device, why));
    }
    Ok(page)
}

/// Builds ATA PASS-THROUGH (16) for reading one page of data into memory.
fn pass_through(wanted: AtaPage) -> [u8; 16] {
    const PIO_IN: u8 = 4 << 1;
    const EXTEND: u8 = 1;
    // The length is in the count, in blocks, from the device.
    const FLAGS: u8 = 0b0000_1110;
    let mut command = [0u8; 16];
    command[0] = 0x85;
    command[1] = PIO_IN;
    command[2] = FLAGS;
    command[6] = 1;
    match wanted {
        AtaPage::SmartData => {
            command[4] = 0xD0;
            command[10] = 0x4F;
            command[12] = 0xC2;
            command[14] = 0xB0;
        }
        AtaPage::Log { address, page } => {
            command[1] |= EXTEND;
            command[8] = address;
            command[10] = page;
            command[14] = 0x2F;
        }
    }
    command
}

/// Opens a device for reading only, without waiting for a medium.
fn open(device: &str) -> Result<OwnedFd, ProbeError> {
    let path = format!("/dev/{device}");
    crate::read_only::open(&path, OFlags::NONBLOCK).map_err(ProbeError::open(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the layout that the kernel reads, and that only log reads are ever sent.
    #[test]
    fn commands_match_the_specifications() {
        assert_eq!(size_of::<NvmeCommand>(), 72);
        #[cfg(target_pointer_width = "64")]
        assert_eq!(size_of::<SgIo>(), 88);
        assert_eq!(
            pass_through(AtaPage::SmartData),
            [0x85, 8, 0x0E, 0, 0xD0, 0, 1, 0, 0, 0, 0x4F, 0, 0xC2, 0, 0xB0, 0]
        );
        let log = pass_through(AtaPage::Log { address: 4, page: 1 });
        assert_eq!(log, [0x85, 9, 0x0E, 0, 0, 0, 1, 0, 4, 0, 1, 0, 0, 0, 0x2F, 0]);
    }

    // Protects: a device that knows neither command gives an error with a reason, never a page of zeros.
    #[test]
    fn other_devices_give_a_reason() {
        assert!(nvme_health_log("null").unwrap_err().to_string().contains("null"));
        assert!(ata_page("null", AtaPage::SmartData).unwrap_err().to_string().contains("null"));
        assert!(nvme_health_log("no-such-device").unwrap_err().to_string().contains("cannot open"));
    }
}
