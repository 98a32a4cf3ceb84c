//! Versions that are known not to go together. Every line has a public report; none is here by hearsay.

use nanscope_lang::Lang;

use crate::machine::Facts;
use crate::version::Version;

/// Whose version, from which on, below which; an empty bound is none.
type Range = (Part, &'static str, &'static str);

/// Something that has a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// torch.
    Torch,
    /// cuDNN.
    Cudnn,
    /// NCCL.
    Nccl,
    /// The driver.
    Driver,
    /// The newest CUDA that the driver supports.
    DriverCuda,
    /// Compute capability of the first device.
    Capability,
}

/// Versions, and perhaps a variable, that were reported to fail together.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Name that does not change.
    pub id: &'static str,
    /// All of these hold.
    pub when: &'static [Range],
    /// And this variable has this value.
    pub variable: Option<(&'static str, &'static str)>,
    /// What happens, and what to do.
    pub text: [&'static str; 2],
    /// The report.
    pub reference: &'static str,
}

impl Pair {
    /// Whether it applies; a version that is not known applies to nothing.
    pub(crate) fn applies(&self, facts: &Facts) -> bool {
        self.when.iter().all(|(part, from, below)| {
            part.version(facts).and_then(Version::of).is_some_and(|version| version.within(from, below))
        }) && self.variable.is_none_or(|(name, value)| facts.variables.get(name).is_some_and(|set| set == value))
    }

    /// In a language.
    pub(crate) fn said(&self, lang: Lang) -> &'static str {
        lang.pick(self.text[0], self.text[1])
    }

    /// The versions that made it apply, as `NCCL 2.25.1`.
    pub(crate) fn versions(&self, facts: &Facts) -> Vec<String> {
        let version = |(part, ..): &Range| Some(format!("{} {}", part.name(), part.version(facts)?));
        let variable = self.variable.map(|(name, value)| format!("{name}={value}"));
        self.when.iter().filter_map(version).chain(variable).collect()
    }
}

impl Part {
    fn version(self, facts: &Facts) -> Option<&str> {
        match self {
            Part::Torch => facts.torch.torch.as_deref(),
            Part::Cudnn => facts.torch.cudnn.as_deref(),
            Part::Nccl => facts.torch.nccl.as_deref(),
            Part::Driver => facts.driver.as_deref(),
            Part::DriverCuda => facts.driver_cuda.as_deref(),
            Part::Capability => facts.torch.devices.first().map(|device| device.capability.as_str()),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Part::Torch => "torch",
            Part::Cudnn => "cuDNN",
            Part::Nccl => "NCCL",
            Part::Driver => "driver",
            Part::DriverCuda => "driver for CUDA",
            Part::Capability => "compute capability",
        }
    }
}

/// The list, by what it costs: wrong numbers, then hangs, then failures.
pub const PAIRS: &[Pair] = &[
    Pair {
        id: "cudnn-attention-backward-nan",
        when: &[(Part::Torch, "2.11", "2.14"), (Part::Capability, "9.0", "9.1")],
        variable: None,
        text: [
            "backward of cuDNN attention gives NaN for queries where an attention mask is passed and the sequence length leaves \
             64 when divided by 128: torch.backends.cuda.enable_cudnn_sdp(False)",
            "어텐션 마스크가 있고 시퀀스 길이를 128로 나눈 나머지가 64이면 cuDNN 어텐션의 역전파가 쿼리 기울기로 NaN을 냅니다: \
             torch.backends.cuda.enable_cudnn_sdp(False)",
        ],
        reference: "https://github.com/pytorch/pytorch/issues/196678",
    },
    Pair {
        id: "cudnn-attention-divergence",
        when: &[(Part::Torch, "2.5.0", "2.5.1"), (Part::Capability, "9.0", "9.1")],
        variable: None,
        text: [
            "cuDNN attention, chosen by default in 2.5.0, was seen to turn training NaN: \
             torch.backends.cuda.enable_cudnn_sdp(False), or a later torch",
            "2.5.0에서 기본으로 선택되는 cuDNN 어텐션이 학습을 NaN으로 만든 사례가 있습니다: \
             torch.backends.cuda.enable_cudnn_sdp(False) 또는 이후 버전의 torch를 사용하십시오",
        ],
        reference: "https://github.com/pytorch/pytorch/issues/139298",
    },
    Pair {
        id: "conv3d-bfloat16-wrong",
        when: &[(Part::Cudnn, "9.8", "9.11")],
        variable: None,
        text: [
            "conv3d in bfloat16 can give wrong results; seen to be right with cuDNN 9.13",
            "bfloat16 conv3d의 결과가 틀릴 수 있습니다; cuDNN 9.13에서는 올바른 것으로 확인되었습니다",
        ],
        reference: "https://github.com/pytorch/pytorch/issues/163539",
    },
    Pair {
        id: "nccl-abort-hang",
        when: &[(Part::Nccl, "2.25.1", "2.26.2")],
        variable: None,
        text: [
            "ncclCommAbort hangs, so a job that fails may not end; repaired in NCCL 2.26.2",
            "ncclCommAbort가 멈추어, 실패한 작업이 종료되지 않을 수 있습니다; NCCL 2.26.2에서 수정됨",
        ],
        reference: "https://github.com/pytorch/pytorch/issues/149153",
    },
    Pair {
        id: "nccl-2.29.2-hang",
        when: &[(Part::Nccl, "2.29.2", "2.29.3")],
        variable: None,
        text: [
            "a regression of 2.29.2 hangs; repaired in NCCL 2.29.3",
            "2.29.2에서 생긴 결함으로 멈춥니다; NCCL 2.29.3에서 수정됨",
        ],
        reference: "https://github.com/pytorch/pytorch/pull/174338",
    },
    Pair {
        id: "nccl-2.17.1-abort-hang",
        when: &[(Part::Nccl, "2.17.1", "2.17.2")],
        variable: None,
        text: [
            "ncclCommAbort hangs where process groups are destroyed in different orders: destroy_process_group() on every rank, \
             or a later NCCL",
            "프로세스 그룹이 서로 다른 순서로 해제되면 ncclCommAbort가 멈춥니다: 모든 랭크에서 destroy_process_group()을 호출하거나 \
             이후 버전의 NCCL을 사용하십시오",
        ],
        reference: "https://github.com/pytorch/pytorch/issues/119215",
    },
    Pair {
        id: "device-id-hang",
        when: &[(Part::Torch, "2.7.0", "2.7.1")],
        variable: None,
        text: [
            "init_process_group(device_id=...) makes collectives hang now and then: leave device_id out, or set \
             TORCH_NCCL_USE_COMM_NONBLOCKING=0",
            "init_process_group(device_id=...)를 쓰면 집합 통신이 가끔 멈춥니다: device_id를 빼거나 \
             TORCH_NCCL_USE_COMM_NONBLOCKING=0을 설정하십시오",
        ],
        reference: "https://github.com/pytorch/pytorch/issues/153960",
    },
    Pair {
        id: "launch-blocking-hang",
        when: &[(Part::Nccl, "2.14", "2.17")],
        variable: Some(("CUDA_LAUNCH_BLOCKING", "1")),
        text: [
            "this NCCL hangs under CUDA_LAUNCH_BLOCKING=1; repaired in 2.17",
            "이 NCCL은 CUDA_LAUNCH_BLOCKING=1에서 멈춥니다; 2.17에서 수정됨",
        ],
        reference: "https://github.com/pytorch/pytorch/pull/97843",
    },
    Pair {
        id: "driver-560-p2p-hang",
        when: &[(Part::Driver, "560", "561")],
        variable: None,
        text: [
            "NCCL was seen to hang with peer-to-peer copies under this driver, and not under 570: NCCL_P2P_DISABLE=1 until then",
            "이 드라이버에서 GPU 간 직접 복사(P2P)를 쓰면 NCCL이 멈춘 사례가 있고 570에서는 없습니다: 그때까지 NCCL_P2P_DISABLE=1",
        ],
        reference: "https://github.com/dmlc/xgboost/issues/11242",
    },
    Pair {
        id: "nccl-too-old-for-torch",
        when: &[(Part::Torch, "2.3", "2.4"), (Part::Nccl, "2.0", "2.13")],
        variable: None,
        text: [
            "the first collective fails with `invalid resource handle`: NCCL 2.13 or later",
            "첫 집합 통신이 `invalid resource handle`로 실패합니다: NCCL 2.13 이상을 사용하십시오",
        ],
        reference: "https://github.com/pytorch/pytorch/issues/130414",
    },
    Pair {
        id: "nccl-2.26-driver-12.2",
        when: &[(Part::Nccl, "2.26.2", "2.26.3"), (Part::DriverCuda, "12.2", "12.3")],
        variable: None,
        text: [
            "initialisation fails with CUDA failure 1 'invalid argument' in transport/nvls.cc: a later driver, or NCCL_NVLS_ENABLE=0",
            "transport/nvls.cc에서 CUDA failure 1 'invalid argument'로 초기화에 실패합니다: 이후 드라이버를 쓰거나 NCCL_NVLS_ENABLE=0",
        ],
        reference: "https://github.com/pytorch/pytorch/issues/150852",
    },
    Pair {
        id: "collnet-broken",
        when: &[(Part::Nccl, "2.10.3", "2.12.7")],
        variable: Some(("NCCL_COLLNET_ENABLE", "1")),
        text: [
            "CollNet is broken in this NCCL; repaired in 2.12.7",
            "이 NCCL에서는 CollNet이 동작하지 않습니다; 2.12.7에서 수정됨",
        ],
        reference: "https://github.com/pytorch/pytorch/issues/76206",
    },
    Pair {
        id: "conv3d-bfloat16-memory",
        when: &[(Part::Torch, "2.9", "2.10"), (Part::Cudnn, "9.0", "9.15")],
        variable: None,
        text: [
            "conv3d in bfloat16 takes several times the memory; cuDNN 9.15 or later helps from torch 2.9.1 on",
            "bfloat16 conv3d가 몇 배의 메모리를 사용합니다; torch 2.9.1부터는 cuDNN 9.15 이상으로 해결됩니다",
        ],
        reference: "https://github.com/pytorch/pytorch/issues/166643",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::torch::{Device, Torch};

    #[test]
    fn every_pair_has_a_report_and_both_languages() {
        let mut ids: Vec<&str> = PAIRS.iter().map(|pair| pair.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), PAIRS.len());
        for pair in PAIRS {
            assert!(pair.reference.starts_with("https://github.com/"), "{}", pair.id);
            assert!(!pair.when.is_empty() && pair.text[1].chars().any(|c| ('가'..='힣').contains(&c)), "{}", pair.id);
        }
    }

    #[test]
    fn a_pair_applies_inside_its_bounds_only() {
        let of = |torch: &str, nccl: &str, capability: &str| {
            let devices = vec![Device { name: "GPU".into(), capability: capability.into() }];
            let torch = Torch { torch: Some(torch.into()), nccl: Some(nccl.into()), devices, ..Torch::default() };
            let facts = Facts { torch, ..Facts::default() };
            PAIRS.iter().filter(|pair| pair.applies(&facts)).map(|pair| pair.id).collect::<Vec<_>>()
        };
        assert_eq!(of("2.12.1+cu130", "2.27.5", "9.0"), ["cudnn-attention-backward-nan"]);
        assert_eq!(of("2.12.1+cu130", "2.27.5", "8.0"), [""; 0]);
        assert_eq!(of("2.6.0", "2.25.1", "8.0"), ["nccl-abort-hang"]);
        assert_eq!(of("2.6.0", "2.26.2", "8.0"), [""; 0]);
        assert_eq!(of("2.3.1", "2.12.10", "8.0"), ["nccl-too-old-for-torch"]);
        assert!(PAIRS.iter().all(|pair| !pair.applies(&Facts::default())));
    }
}
