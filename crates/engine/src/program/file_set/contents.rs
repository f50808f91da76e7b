//! Sizes of the files of a share, and the names and handles that share a file.

/// Sizes of files, by node. Names and open handles refer to nodes, like to inodes in a file system.
#[derive(Debug, Clone)]
pub(super) struct Contents {
    /// Node of each name that is a file.
    node: Vec<u32>,
    /// Size of a node in use; the next free node for a free one.
    size: Vec<u64>,
    /// Number of names and handles that refer to each node.
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

    /// Makes room for `nodes` nodes in total: one for each name, and one for each handle, whose
    /// file may have lost its name.
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

    /// Adds a file of this size under a name. Returns its node.
    pub(super) fn add_file(&mut self, name: u32, size: u64) -> u32 {
        assert!(self.free > 0, "there are enough nodes for all names and handles");
        let node = self.free_first;
        self.free_first = self.size[node as usize] as u32;
        self.free -= 1;
        self.size[node as usize] = size;
        self.references[node as usize] = 1;
        self.node[name as usize] = node;
        node
    }

    /// Lets `to` refer to the node of `from`.
    pub(super) fn rename(&mut self, from: u32, to: u32) {
        self.node[to as usize] = self.node[from as usize];
    }

    /// Adds another name for a node.
    pub(super) fn add_name(&mut self, name: u32, node: u32) {
        self.node[name as usize] = node;
        self.hold(node);
    }

    /// Adds a reference to a node.
    pub(super) fn hold(&mut self, node: u32) {
        self.references[node as usize] += 1;
    }

    /// Removes a reference from a node, and frees the node without references.
    pub(super) fn release(&mut self, node: u32) {
        let references = &mut self.references[node as usize];
        *references -= 1;
        if *references == 0 {
            self.release_node(node);
        }
    }

    /// Returns the number of names and handles that refer to a node.
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
