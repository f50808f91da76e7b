//! Canonical Huffman codes of at most twelve bits.

/// Bits of the longest code.
pub(crate) const LONGEST: u32 = 12;

/// Returns the code lengths for symbols with these counts; 0 for unused symbols, and for a single one.
pub(crate) fn lengths(counts: &[u32]) -> Vec<u8> {
    let mut lengths = vec![0; counts.len()];
    let mut weights: Vec<u32> = counts.to_vec();
    let used: Vec<usize> = (0..counts.len()).filter(|&symbol| counts[symbol] > 0).collect();
    if used.len() < 2 {
        return lengths;
    }
    loop {
        // Two queues: leaves by weight, and inner nodes, which arise in the order of their weights.
        let mut leaves = used.clone();
        leaves.sort_by_key(|&symbol| (weights[symbol], symbol));
        let total = 2 * leaves.len() - 1;
        let (mut weight, mut parent) = (vec![0_u64; total], vec![0_usize; total]);
        leaves.iter().enumerate().for_each(|(node, &symbol)| weight[node] = weights[symbol].into());
        let (mut leaf, mut inner) = (0, leaves.len());
        for made in leaves.len()..total {
            for _ in 0..2 {
                let lightest = if leaf < leaves.len() && (inner >= made || weight[leaf] <= weight[inner]) {
                    leaf += 1;
                    leaf - 1
                } else {
                    inner += 1;
                    inner - 1
                };
                weight[made] += weight[lightest];
                parent[lightest] = made;
            }
        }
        let mut depth = vec![0_u32; total];
        (0..total - 1).rev().for_each(|node| depth[node] = depth[parent[node]] + 1);
        if depth[..leaves.len()].iter().all(|&depth| depth <= LONGEST) {
            leaves.iter().enumerate().for_each(|(node, &symbol)| lengths[symbol] = depth[node] as u8);
            return lengths;
        }
        // Flatter weights make a flatter tree.
        used.iter().for_each(|&symbol| weights[symbol] = weights[symbol].div_ceil(2));
    }
}

/// Returns the codes for these lengths, in writing order: the first bit is the lowest. `None` if the lengths do
/// not form a complete code.
pub(crate) fn codes(lengths: &[u8]) -> Option<Vec<u16>> {
    let mut next = [0_u32; LONGEST as usize + 2];
    lengths.iter().filter(|&&length| length > 0).for_each(|&length| next[usize::from(length) + 1] += 1);
    let mut code = 0;
    for slot in &mut next[1..] {
        code = (code + *slot) << 1;
        *slot = code;
    }
    // The slot after a length now has twice the first code of the next length.
    let whole = next[LONGEST as usize + 1] == 1 << (LONGEST + 1);
    let mut firsts = [0_u32; LONGEST as usize + 1];
    (1..=LONGEST as usize).for_each(|length| firsts[length] = next[length]);
    let mut codes = vec![0; lengths.len()];
    let mut any = false;
    for (symbol, &length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
        any = true;
        let code = firsts[usize::from(length)];
        firsts[usize::from(length)] += 1;
        codes[symbol] = ((code as u16) << (16 - u32::from(length))).reverse_bits();
    }
    (whole || !any).then_some(codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_symbols_have_short_codes_and_no_code_begins_another() {
        let counts = [1000, 0, 500, 250, 125, 120, 1];
        let lengths = lengths(&counts);
        assert_eq!(lengths, [1, 0, 2, 3, 4, 5, 5]);
        let codes = codes(&lengths).unwrap();
        for (one, &length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            let same = |other: usize| lengths[other] > 0 && (codes[other] ^ codes[one]) & ((1 << length) - 1) == 0;
            assert_eq!((0..counts.len()).filter(|&other| same(other)).count(), 1, "symbol {one}");
        }
    }

    /// Weights like Fibonacci's make the deepest tree.
    #[test]
    fn no_code_is_longer_than_twelve_bits() {
        let mut counts = vec![1_u32, 1];
        (2..40).for_each(|n| counts.push(counts[n - 1] + counts[n - 2]));
        let lengths = lengths(&counts);
        assert_eq!(lengths.iter().max(), Some(&12));
        assert!(codes(&lengths).is_some());
    }

    #[test]
    fn lengths_that_make_no_code_are_refused() {
        assert!(codes(&[1, 1, 1]).is_none(), "too many");
        assert!(codes(&[1, 2]).is_none(), "too few");
        assert!(codes(&[0, 0]).is_some(), "a symbol that is alone needs no bits");
    }
}
