//! What one line says.

/// Which process wrote a line of NCCL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writer<'a> {
    /// Name of the machine, as NCCL gives it.
    pub(crate) host: &'a [u8],
    /// Process id.
    pub(crate) pid: u64,
}

/// A communicator as a rank announces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Init {
    /// Address in the process: a name there, and nowhere else.
    pub(crate) comm: u64,
    /// The rank in it.
    pub(crate) rank: u32,
    /// How many there should be.
    pub(crate) nranks: u32,
    /// The same on all ranks; NCCL 2.18 and later.
    pub(crate) id: Option<u64>,
    /// Whether the rank says that it is ready, not that it begins.
    pub(crate) complete: bool,
}

/// A collective as a rank enqueues it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collective<'a> {
    /// `AllReduce` and the like.
    pub(crate) op: &'a [u8],
    /// Number of the operation on its communicator.
    pub(crate) count: u64,
    /// Elements.
    pub(crate) elements: u64,
    /// `ncclDataType_t`.
    pub(crate) dtype: u64,
    /// `ncclRedOp_t`.
    pub(crate) reduction: u64,
    /// The root rank; 0 where there is none.
    pub(crate) root: u64,
    /// Address of the communicator.
    pub(crate) comm: u64,
}

impl Collective<'_> {
    /// Sent or received by two ranks, not by all.
    pub(crate) fn is_pairwise(&self) -> bool {
        matches!(self.op, b"Send" | b"Recv")
    }
}

/// A collective that torch's watchdog has given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeout<'a> {
    /// The process group, where the line says.
    pub(crate) group: &'a [u8],
    /// The rank, where the line says.
    pub(crate) rank: Option<u32>,
    /// Its number in the process group.
    pub(crate) seq: u64,
    /// `ALLREDUCE` and the like.
    pub(crate) op: &'a [u8],
    /// Elements in and out, where the line says.
    pub(crate) elements: Option<(u64, u64)>,
    /// Milliseconds that were allowed.
    pub(crate) limit_ms: u64,
    /// Milliseconds that it ran.
    pub(crate) ran_ms: u64,
}

/// How far a rank had come in a process group when its watchdog spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reached<'a> {
    /// The process group.
    pub(crate) group: &'a [u8],
    /// The rank.
    pub(crate) rank: u32,
    /// The collective that it is about, where the line says.
    pub(crate) at: Option<u64>,
    /// Number of the last one that was enqueued.
    pub(crate) enqueued: Option<u64>,
    /// Number of the last one that was completed.
    pub(crate) completed: Option<u64>,
}

/// What one line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact<'a> {
    /// The version of NCCL, as `2.18.1+cuda12.1`.
    Version(Option<Writer<'a>>, &'a [u8]),
    /// `cudaDriverVersion`, as 12080.
    Driver(Writer<'a>, u64),
    /// A variable that NCCL has read, and its value.
    Variable(Writer<'a>, &'a [u8], &'a [u8]),
    /// The network that was chosen, as `IB`.
    Network(Writer<'a>, &'a [u8]),
    /// From rank, to rank, over what.
    Channel(u32, u32, &'a [u8]),
    /// A communicator.
    Init(Writer<'a>, Init),
    /// A collective.
    Collective(Writer<'a>, Collective<'a>),
    /// A warning of NCCL.
    Warning(Option<Writer<'a>>, &'a [u8]),
    /// A watchdog's timeout.
    Timeout(Timeout<'a>),
    /// How far a rank had come.
    Reached(Reached<'a>),
    /// The store of the job did not answer in time; the line.
    Store(&'a [u8]),
    /// A line of NCCL that says nothing that is asked here.
    Known,
    /// Any other line.
    Unknown,
}
