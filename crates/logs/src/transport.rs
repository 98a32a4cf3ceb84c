//! What two ranks talk over, by the names that NCCL gives.

/// Kinds of transport, the fastest first where they can be compared.
const KINDS: [&str; 8] =
    ["P2P", "SHM", "NET/IB GPU-direct", "NET/IB", "NET/plugin GPU-direct", "NET/plugin", "NET/Socket", "other"];

/// A set of transports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set(u8);

impl Set {
    /// The one that a line names: `P2P/CUMEM/read`, `SHM/direct/direct`, `NET/IB/0/GDRDMA`, `direct shared memory`.
    pub(crate) fn of(via: &[u8]) -> Set {
        let direct = memchr::memmem::find(via, b"GDRDMA").is_some();
        let kind = match via {
            _ if via.starts_with(b"P2P") => 0,
            _ if via.starts_with(b"SHM") || via.starts_with(b"direct shared memory") => 1,
            _ if via.starts_with(b"NET/Socket") => 6,
            // IBext is the InfiniBand of a plugin.
            _ if via.starts_with(b"NET/IB") => 3 - usize::from(direct),
            _ if via.starts_with(b"NET/") => 5 - usize::from(direct),
            _ => 7,
        };
        Set(1 << kind)
    }

    /// All of both.
    pub(crate) fn and(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }

    /// Over plain sockets.
    pub(crate) fn has_socket(self) -> bool {
        self.0 & 1 << 6 != 0
    }

    /// Over a network other than plain sockets.
    pub(crate) fn has_fast_network(self) -> bool {
        self.0 & 0b11_1100 != 0
    }

    /// Their names.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        KINDS.iter().enumerate().filter(move |(kind, _)| self.0 & 1 << kind != 0).map(|(_, name)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::Set;

    #[test]
    fn every_name_of_nccl_has_a_kind() {
        let kind = |via: &str| Set::of(via.as_bytes()).names().collect::<Vec<_>>().join(", ");
        assert_eq!(kind("P2P/IPC/read"), "P2P");
        assert_eq!(kind("P2P/direct pointer"), "P2P");
        assert_eq!(kind("direct shared memory"), "SHM");
        assert_eq!(kind("SHM/direct/direct"), "SHM");
        assert_eq!(kind("NET/IB/0/GDRDMA"), "NET/IB GPU-direct");
        assert_eq!(kind("NET/IB/3"), "NET/IB");
        assert_eq!(kind("NET/IBext_v8/3/GDRDMA"), "NET/IB GPU-direct");
        assert_eq!(kind("NET/AWS Libfabric/0"), "NET/plugin");
        assert_eq!(kind("NET/Socket/0"), "NET/Socket");
        assert_eq!(kind("COLLNET"), "other");
        assert!(Set::of(b"NET/IB/0").and(Set::of(b"NET/Socket/0")).has_socket());
    }
}
