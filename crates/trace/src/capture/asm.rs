//! Programs for the kernel's virtual machine (BPF), put together by hand: no compiler and no library is needed where Plumb runs.
//! Source: Documentation/bpf/standardization/instruction-set.rst of Linux.

/// Registers: the result, arguments 1 to 5, four that calls keep, and the frame.
pub(super) const R0: u8 = 0;
pub(super) const R1: u8 = 1;
pub(super) const R2: u8 = 2;
pub(super) const R3: u8 = 3;
pub(super) const R4: u8 = 4;
pub(super) const R6: u8 = 6;
pub(super) const R7: u8 = 7;
pub(super) const R8: u8 = 8;
pub(super) const R9: u8 = 9;
pub(super) const FRAME: u8 = 10;

/// Functions of the kernel. Source: linux/bpf.h, `enum bpf_func_id`.
#[derive(Clone, Copy)]
#[repr(i32)]
pub(super) enum Helper {
    MapLookup = 1,
    MapUpdate = 2,
    Time = 5,
    Thread = 14,
    ReadUser = 112,
    ReadKernel = 113,
    ReadUserText = 114,
    ReadKernelText = 115,
    RingReserve = 131,
    RingSubmit = 132,
}

/// An instruction: code, registers, offset and number.
type Instruction = (u8, u8, u8, i16, i32);

/// A program that is being put together.
#[derive(Default)]
pub(super) struct Program {
    code: Vec<Instruction>,
    labels: Vec<(&'static str, usize)>,
    jumps: Vec<(usize, &'static str)>,
}

impl Program {
    fn push(&mut self, code: u8, to: u8, from: u8, offset: i16, number: i32) -> &mut Program {
        self.code.push((code, to, from, offset, number));
        self
    }

    /// `to = from`.
    pub(super) fn copy(&mut self, to: u8, from: u8) -> &mut Program {
        self.push(0xbf, to, from, 0, 0)
    }

    /// `to = number`.
    pub(super) fn set(&mut self, to: u8, number: i32) -> &mut Program {
        self.push(0xb7, to, 0, 0, number)
    }

    /// `to += number`.
    pub(super) fn add(&mut self, to: u8, number: i32) -> &mut Program {
        self.push(0x07, to, 0, 0, number)
    }

    /// `to -= from`.
    pub(super) fn subtract(&mut self, to: u8, from: u8) -> &mut Program {
        self.push(0x1f, to, from, 0, 0)
    }

    /// `to &= number`.
    pub(super) fn mask(&mut self, to: u8, number: i32) -> &mut Program {
        self.push(0x57, to, 0, 0, number)
    }

    /// `to >>= number`.
    pub(super) fn shift_right(&mut self, to: u8, number: i32) -> &mut Program {
        self.push(0x77, to, 0, 0, number)
    }

    /// `to <<= number`.
    pub(super) fn shift_left(&mut self, to: u8, number: i32) -> &mut Program {
        self.push(0x67, to, 0, 0, number)
    }

    /// `to = *(u64 *)(from + offset)`.
    pub(super) fn load(&mut self, to: u8, from: u8, offset: i16) -> &mut Program {
        self.push(0x79, to, from, offset, 0)
    }

    /// `to = *(u32 *)(from + offset)`.
    pub(super) fn load_word(&mut self, to: u8, from: u8, offset: i16) -> &mut Program {
        self.push(0x61, to, from, offset, 0)
    }

    /// `*(u64 *)(to + offset) = from`.
    pub(super) fn store(&mut self, to: u8, offset: i16, from: u8) -> &mut Program {
        self.push(0x7b, to, from, offset, 0)
    }

    /// `*(u32 *)(to + offset) = from`.
    pub(super) fn store_word(&mut self, to: u8, offset: i16, from: u8) -> &mut Program {
        self.push(0x63, to, from, offset, 0)
    }

    /// `*(u32 *)(to + offset) = number`.
    pub(super) fn store_number(&mut self, to: u8, offset: i16, number: i32) -> &mut Program {
        self.push(0x62, to, 0, offset, number)
    }

    /// `*(u64 *)(to + offset) += from`, at once for all processors.
    pub(super) fn count(&mut self, to: u8, offset: i16, from: u8) -> &mut Program {
        self.push(0xdb, to, from, offset, 0)
    }

    /// `to` is a map.
    pub(super) fn map(&mut self, to: u8, descriptor: i32) -> &mut Program {
        self.push(0x18, to, 1, 0, descriptor).push(0, 0, 0, 0, 0)
    }

    /// `to` is where the value of a map with one entry begins.
    pub(super) fn map_value(&mut self, to: u8, descriptor: i32) -> &mut Program {
        self.push(0x18, to, 2, 0, descriptor).push(0, 0, 0, 0, 0)
    }

    /// `to += from`.
    pub(super) fn add_register(&mut self, to: u8, from: u8) -> &mut Program {
        self.push(0x0f, to, from, 0, 0)
    }

    /// `to = *(u8 *)(from + offset)`.
    pub(super) fn load_byte(&mut self, to: u8, from: u8, offset: i16) -> &mut Program {
        self.push(0x71, to, from, offset, 0)
    }

    /// `*(u8 *)(to + offset) = from`.
    pub(super) fn store_byte(&mut self, to: u8, offset: i16, from: u8) -> &mut Program {
        self.push(0x73, to, from, offset, 0)
    }

    /// Calls a function of the kernel.
    pub(super) fn call(&mut self, helper: Helper) -> &mut Program {
        self.push(0x85, 0, 0, 0, helper as i32)
    }

    /// Looks a key up in a map; the key is on the stack at this offset.
    pub(super) fn look_up(&mut self, map: i32, key: i32) -> &mut Program {
        self.map(R1, map).copy(R2, FRAME).add(R2, key).call(Helper::MapLookup)
    }

    /// Goes to a label if the register has this value.
    pub(super) fn jump_if(&mut self, register: u8, number: i32, label: &'static str) -> &mut Program {
        self.jumps.push((self.code.len(), label));
        self.push(0x15, register, 0, 0, number)
    }

    /// Goes to a label if the register has at most this value.
    pub(super) fn jump_if_at_most(&mut self, register: u8, number: i32, label: &'static str) -> &mut Program {
        self.jumps.push((self.code.len(), label));
        self.push(0xb5, register, 0, 0, number)
    }

    /// Goes to a label if the register's lower half has this value.
    pub(super) fn jump_if_word(&mut self, register: u8, number: u32, label: &'static str) -> &mut Program {
        self.jumps.push((self.code.len(), label));
        self.push(0x16, register, 0, 0, number.cast_signed())
    }

    /// Goes to a label.
    pub(super) fn jump(&mut self, label: &'static str) -> &mut Program {
        self.jumps.push((self.code.len(), label));
        self.push(0x05, 0, 0, 0, 0)
    }

    /// Here is a label.
    pub(super) fn label(&mut self, label: &'static str) -> &mut Program {
        self.labels.push((label, self.code.len()));
        self
    }

    /// Ends with 0.
    pub(super) fn end(&mut self) -> &mut Program {
        self.set(R0, 0).push(0x95, 0, 0, 0, 0)
    }

    /// The program as the kernel takes it.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut code = self.code.clone();
        for (place, label) in &self.jumps {
            let target = self.labels.iter().find(|(known, _)| known == label).map_or(*place, |(_, target)| *target);
            code[*place].3 = (target as i64 - *place as i64 - 1) as i16;
        }
        let bytes = |(code, to, from, offset, number): &Instruction| {
            let [low, high] = offset.to_le_bytes();
            let number = number.to_le_bytes();
            [*code, to | from << 4, low, high, number[0], number[1], number[2], number[3]]
        };
        code.iter().flat_map(bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_reach_their_labels() {
        let mut program = Program::default();
        program.set(R1, 7).jump_if(R1, 7, "out").set(R1, 8).label("out").end();
        let bytes = program.bytes();
        assert_eq!(bytes.len(), 5 * 8);
        assert_eq!(bytes[8..16], [0x15, R1, 1, 0, 7, 0, 0, 0], "one instruction further");
        assert_eq!(bytes[..8], [0xb7, R1, 0, 0, 7, 0, 0, 0]);
    }
}
