//! Sizes of the files of a share, and which names and handles share a file.

/// Sizes of files, by node: what names and open handles refer to, as inodes are in a file system.
#[derive(Debug, Clone)]
pub(super) struct Contents {
    /// Of a name that is a file: its node.
    node: Vec<u32>,
    /// Of a node in use: its size. Of a free one: the free node after it.
    size: Vec<u64>,
    /// Names and handles that refer to it.
    references: Vec<u32>,
    free_first: u32,
    free: u32,
}

impl Contents {
    pub(super) fn new(names: u32) -> Contents {
        let mut contents =
            Contents { node: vec![0; names as usize], size: vec![], references: vec![], free_first: 0, free: 0 };
        contents.reserve(names as usize);
        contents
    }

    /// Makes room for `nodes` nodes altogether: one for each name, and one for each handle, whose file may have no name
    /// any more.
    pub(super) fn reserve(&mut self, nodes: usize) {
        let before = self.size.len();
        self.size.resize(nodes.max(before), 0);
        self.references.resize(nodes.max(before), 0);
        // From the end, so that nodes are handed out in order of their number.
        for node in (before..nodes).rev() {
            self.release_node(node as u32);
        }
    }

    fn release_node(&mut self, node: u32) {
        self.size[node as usize] = u64::from(self.free_first);
        self.free_first = node;
        self.free += 1;
    }

    /// A new file of this size under a name.
    pub(super) fn add_file(&mut self, name: u32, size: u64) -> u32 {
        assert!(self.free > 0, "there is a node for every name and every handle");
        let node = self.free_first;
        self.free_first = self.size[node as usize] as u32;
        self.free -= 1;
        self.size[node as usize] = size;
        self.references[node as usize] = 1;
        self.node[name as usize] = node;
        node
    }

    /// What one name leads to, another leads to from now on.
    pub(super) fn rename(&mut self, from: u32, to: u32) {
        self.node[to as usize] = self.node[from as usize];
    }

    /// A further name of a node.
    pub(super) fn add_name(&mut self, name: u32, node: u32) {
        self.node[name as usize] = node;
        self.hold(node);
    }

    /// One reference more.
    pub(super) fn hold(&mut self, node: u32) {
        self.references[node as usize] += 1;
    }

    /// One reference less; without any, the node is free.
    pub(super) fn release(&mut self, node: u32) {
        let references = &mut self.references[node as usize];
        *references -= 1;
        if *references == 0 {
            self.release_node(node);
        }
    }

    /// Names and handles that refer to a node.
    pub(super) fn names_of(&self, node: u32) -> u32 {
        self.references[node as usize]
    }

    #[inline]
    pub(super) fn node_of(&self, name: u32) -> u32 {
        self.node[name as usize]
    }

    #[inline]
    pub(super) fn size(&self, node: u32) -> u64 {
        self.size[node as usize]
    }

    #[inline]
    pub(super) fn set_size(&mut self, node: u32, size: u64) {
        self.size[node as usize] = size;
    }
}
