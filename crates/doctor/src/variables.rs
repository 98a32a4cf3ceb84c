//! Variables and what they do.

/// A variable that NCCL, torch or CUDA read.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// What it does, in English and Korean.
    pub what: [&'static str; 2],
}

const fn known(name: &'static str, en: &'static str, ko: &'static str) -> Known {
    Known { name, what: [en, ko] }
}

/// The list, by name.
pub const KNOWN: &[Known] = &[
    known(
        "CUBLAS_WORKSPACE_CONFIG",
        "workspaces of cuBLAS; :4096:8 or :16:8 make its results repeatable",
        "cuBLAS 작업 공간; :4096:8 또는 :16:8이면 결과가 재현됨",
    ),
    known("CUDA_DEVICE_ORDER", "order in which GPUs are numbered", "GPU 번호를 매기는 순서"),
    known(
        "CUDA_LAUNCH_BLOCKING",
        "1: every kernel is waited for; slow, errors name the right line",
        "1: 커널마다 대기; 느리지만 오류가 정확한 줄을 가리킴",
    ),
    known("CUDA_MODULE_LOADING", "whether kernels are loaded when first used", "커널을 처음 사용할 때 적재할지 여부"),
    known("CUDA_VISIBLE_DEVICES", "GPUs that the process sees", "프로세스가 볼 수 있는 GPU"),
    known("GLOO_SOCKET_IFNAME", "network interface of Gloo", "Gloo의 네트워크 인터페이스"),
    known("NCCL_ALGO", "algorithms that may be used", "사용할 수 있는 알고리즘"),
    known(
        "NCCL_ASYNC_ERROR_HANDLING",
        "old name of TORCH_NCCL_ASYNC_ERROR_HANDLING",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING의 옛 이름",
    ),
    known("NCCL_BLOCKING_WAIT", "old name of TORCH_NCCL_BLOCKING_WAIT", "TORCH_NCCL_BLOCKING_WAIT의 옛 이름"),
    known("NCCL_BUFFSIZE", "bytes of buffer for each pair of GPUs", "GPU 쌍마다의 버퍼 바이트 수"),
    known("NCCL_COLLNET_ENABLE", "1: the network itself reduces (SHARP)", "1: 네트워크가 직접 합산 (SHARP)"),
    known(
        "NCCL_CROSS_NIC",
        "whether a ring may use different cards on different machines",
        "링이 머신마다 다른 네트워크 카드를 써도 되는지 여부",
    ),
    known("NCCL_CUMEM_ENABLE", "buffers by the virtual memory API of CUDA", "CUDA 가상 메모리 API로 버퍼 할당"),
    known(
        "NCCL_CUMEM_HOST_ENABLE",
        "host buffers by the virtual memory API of CUDA",
        "CUDA 가상 메모리 API로 호스트 버퍼 할당",
    ),
    known("NCCL_DEBUG", "what NCCL prints: VERSION, WARN, INFO, TRACE", "NCCL 출력 수준: VERSION, WARN, INFO, TRACE"),
    known("NCCL_DEBUG_FILE", "file that it prints to", "출력 파일"),
    known(
        "NCCL_DEBUG_SUBSYS",
        "parts that print: INIT, COLL, P2P, SHM, NET, GRAPH, TUNING, ENV, ALLOC, ALL",
        "출력할 부분: INIT, COLL, P2P, SHM, NET, GRAPH, TUNING, ENV, ALLOC, ALL",
    ),
    known("NCCL_DMABUF_ENABLE", "GPU-direct by DMA-BUF", "DMA-BUF를 통한 GPU-direct"),
    known("NCCL_GRAPH_FILE", "graph that is used instead of the search", "탐색 대신 사용할 그래프 파일"),
    known(
        "NCCL_IB_DISABLE",
        "1: no InfiniBand and no RoCE, plain sockets instead",
        "1: InfiniBand와 RoCE를 쓰지 않고 일반 소켓 사용",
    ),
    known("NCCL_IB_GID_INDEX", "entry of the GID table for RoCE", "RoCE용 GID 표의 항목"),
    known("NCCL_IB_HCA", "InfiniBand cards that may be used", "사용할 수 있는 InfiniBand 카드"),
    known("NCCL_IB_QPS_PER_CONNECTION", "queue pairs of a connection", "연결마다의 큐 페어 수"),
    known("NCCL_IB_RETRY_CNT", "how often InfiniBand tries again", "InfiniBand 재시도 횟수"),
    known("NCCL_IB_SL", "service level of InfiniBand", "InfiniBand 서비스 수준"),
    known("NCCL_IB_TC", "traffic class of InfiniBand", "InfiniBand 트래픽 등급"),
    known("NCCL_IB_TIMEOUT", "how long InfiniBand waits: 4.096 us x 2^value", "InfiniBand 대기 시간: 4.096us x 2^값"),
    known(
        "NCCL_LAUNCH_MODE",
        "how kernels of several GPUs of a process are launched",
        "한 프로세스의 여러 GPU 커널을 실행하는 방식",
    ),
    known(
        "NCCL_MAX_NCHANNELS",
        "most channels; fewer leave more of the GPU to computation",
        "최대 채널 수; 적을수록 GPU를 계산에 더 남김",
    ),
    known("NCCL_MIN_NCHANNELS", "least channels", "최소 채널 수"),
    known(
        "NCCL_NET",
        "network to be used: Socket, IB, or the name of a plugin",
        "사용할 네트워크: Socket, IB 또는 플러그인 이름",
    ),
    known(
        "NCCL_NET_GDR_LEVEL",
        "how far a card may be from a GPU for GPU-direct",
        "GPU-direct를 쓸 카드와 GPU의 최대 거리",
    ),
    known("NCCL_NET_PLUGIN", "plugin of the network", "네트워크 플러그인"),
    known("NCCL_NSOCKS_PERTHREAD", "sockets of a helper thread", "보조 스레드마다의 소켓 수"),
    known("NCCL_NTHREADS", "threads of a block", "블록마다의 스레드 수"),
    known("NCCL_NVLS_ENABLE", "whether NVLink reduces by itself", "NVLink가 직접 합산할지 여부"),
    known("NCCL_P2P_DISABLE", "1: GPUs do not copy to each other directly", "1: GPU 간 직접 복사를 쓰지 않음"),
    known("NCCL_P2P_LEVEL", "how far GPUs may be apart to copy directly", "직접 복사할 GPU 사이의 최대 거리"),
    known(
        "NCCL_PROTO",
        "protocols that may be used: LL, LL128, Simple; LL128 is wrong on hardware that NCCL would not choose it for",
        "사용할 수 있는 프로토콜: LL, LL128, Simple; NCCL이 고르지 않을 하드웨어에서 LL128은 틀린 결과를 냄",
    ),
    known("NCCL_PXN_DISABLE", "1: no way through another GPU to its card", "1: 다른 GPU를 거쳐 그 카드로 보내지 않음"),
    known(
        "NCCL_SHM_DISABLE",
        "1: no shared memory between processes of a machine",
        "1: 한 머신의 프로세스 사이에 공유 메모리를 쓰지 않음",
    ),
    known("NCCL_SOCKET_FAMILY", "AF_INET or AF_INET6", "AF_INET 또는 AF_INET6"),
    known("NCCL_SOCKET_IFNAME", "network interfaces that may be used", "사용할 수 있는 네트워크 인터페이스"),
    known("NCCL_SOCKET_NTHREADS", "helper threads of a connection", "연결마다의 보조 스레드 수"),
    known("NCCL_TOPO_DUMP_FILE", "file to write the topology to", "토폴로지를 기록할 파일"),
    known("NCCL_TOPO_FILE", "topology that is read instead of the machine's", "머신 대신 읽을 토폴로지 파일"),
    known("NCCL_TUNER_PLUGIN", "plugin that chooses algorithms", "알고리즘을 고르는 플러그인"),
    known(
        "NVIDIA_TF32_OVERRIDE",
        "0: no TF32 anywhere, whatever the program asks for",
        "0: 프로그램 설정과 무관하게 TF32를 쓰지 않음",
    ),
    known("OMP_NUM_THREADS", "threads of CPU operators", "CPU 연산자의 스레드 수"),
    known("PYTORCH_ALLOC_CONF", "settings of the caching allocator", "캐싱 할당기 설정"),
    known("PYTORCH_CUDA_ALLOC_CONF", "settings of the caching allocator", "캐싱 할당기 설정"),
    known(
        "PYTORCH_NO_CUDA_MEMORY_CACHING",
        "1: no caching allocator; very slow",
        "1: 캐싱 할당기를 쓰지 않음; 매우 느림",
    ),
    known("TORCHDYNAMO_DISABLE", "1: torch.compile does nothing", "1: torch.compile이 동작하지 않음"),
    known("TORCHINDUCTOR_CACHE_DIR", "where compiled kernels are kept", "컴파일된 커널을 보관하는 위치"),
    known(
        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
        "1: TF32 in matrix products, whatever the program asks for",
        "1: 프로그램 설정과 무관하게 행렬 곱에 TF32 사용",
    ),
    known("TORCH_CPP_LOG_LEVEL", "what C++ parts of torch print", "torch C++ 부분의 출력 수준"),
    known(
        "TORCH_CUDNN_SDPA_ENABLED",
        "whether attention by cuDNN may be chosen",
        "cuDNN 어텐션을 선택할 수 있는지 여부",
    ),
    known("TORCH_CUDNN_V8_API_DISABLED", "1: the old interface of cuDNN", "1: cuDNN의 옛 인터페이스 사용"),
    known("TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT", "plans of cuDNN that are kept", "보관할 cuDNN 계획의 수"),
    known(
        "TORCH_DISTRIBUTED_DEBUG",
        "DETAIL: collectives are compared between ranks as they are called; slow",
        "DETAIL: 집합 통신을 호출할 때마다 랭크끼리 비교; 느림",
    ),
    known(
        "TORCH_FR_BUFFER_SIZE",
        "collectives that the flight recorder keeps; 0 for none",
        "플라이트 레코더가 보관할 집합 통신 수; 0이면 보관하지 않음",
    ),
    known("TORCH_FR_DUMP_TEMP_FILE", "where the flight recorder writes", "플라이트 레코더의 기록 위치"),
    known("TORCH_LOGS", "what parts of torch print", "torch 각 부분의 출력"),
    known(
        "TORCH_NCCL_ASYNC_ERROR_HANDLING",
        "what the watchdog does after a timeout: 0 nothing, 1 and 3 end the process",
        "시간 초과 뒤 감시기의 동작: 0은 없음, 1과 3은 프로세스 종료",
    ),
    known("TORCH_NCCL_AVOID_RECORD_STREAMS", "how memory of collectives is held", "집합 통신의 메모리를 유지하는 방식"),
    known(
        "TORCH_NCCL_BLOCKING_WAIT",
        "1: wait() blocks the CPU and raises at a timeout",
        "1: wait()가 CPU를 막고 시간 초과 때 예외를 냄",
    ),
    known("TORCH_NCCL_CUDA_EVENT_CACHE", "whether CUDA events are reused", "CUDA 이벤트를 재사용할지 여부"),
    known("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "where the flight recorder writes", "플라이트 레코더의 기록 위치"),
    known(
        "TORCH_NCCL_DESYNC_DEBUG",
        "1: after a timeout ranks say where they parted",
        "1: 시간 초과 뒤 랭크들이 갈라진 곳을 알림",
    ),
    known(
        "TORCH_NCCL_DUMP_ON_TIMEOUT",
        "1: the flight recorder is written at a timeout",
        "1: 시간 초과 때 플라이트 레코더를 기록",
    ),
    known(
        "TORCH_NCCL_ENABLE_MONITORING",
        "whether a stuck watchdog ends the process",
        "멈춘 감시기가 프로세스를 종료할지 여부",
    ),
    known("TORCH_NCCL_ENABLE_TIMING", "1: durations of collectives are measured", "1: 집합 통신의 소요 시간을 측정"),
    known(
        "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC",
        "seconds until a stuck watchdog ends the process",
        "멈춘 감시기가 프로세스를 종료하기까지의 초",
    ),
    known(
        "TORCH_NCCL_HIGH_PRIORITY",
        "1: collectives on a stream of high priority",
        "1: 우선순위가 높은 스트림에서 집합 통신",
    ),
    known(
        "TORCH_NCCL_NAN_CHECK",
        "1: what goes into a collective is checked for NaN",
        "1: 집합 통신 입력에 NaN이 있는지 검사",
    ),
    known("TORCH_NCCL_TRACE_BUFFER_SIZE", "old name of TORCH_FR_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE의 옛 이름"),
    known(
        "TORCH_NCCL_TRACE_CPP_STACK",
        "1: the flight recorder keeps C++ frames as well",
        "1: 플라이트 레코더가 C++ 호출 스택도 보관",
    ),
    known(
        "TORCH_NCCL_USE_COMM_NONBLOCKING",
        "1: communicators are made without waiting",
        "1: 기다리지 않고 통신자를 생성",
    ),
    known("TORCH_SHOW_CPP_STACKTRACES", "1: errors show C++ frames", "1: 오류에 C++ 호출 스택을 표시"),
];

/// What a variable does; None where it is not in the list.
pub(crate) fn known_as(name: &str) -> Option<&'static Known> {
    KNOWN.binary_search_by(|known| known.name.cmp(name)).ok().map(|at| &KNOWN[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_translated() {
        assert!(KNOWN.is_sorted_by(|one, next| one.name < next.name));
        for known in KNOWN {
            assert!(
                !known.what[0].is_empty() && !known.what[1].is_empty() && known.what[0].is_ascii(),
                "{}",
                known.name
            );
            assert_eq!(known_as(known.name).map(|found| found.name), Some(known.name));
        }
        assert!(known_as("NCCL_NOTHING").is_none());
    }
}
