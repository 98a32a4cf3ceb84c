"""Whatever else torch can do with a model, once each; prints one line for each, with what came of it.

A watched run prints the same lines. `python facilities.py` for all, or the names of some.
"""

import copy
import io
import json
import re
import sys
import tempfile
import warnings
from pathlib import Path

import torch
from torch import nn

warnings.simplefilter("ignore")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.dropout, self.norm = nn.Linear(4, 4), nn.Dropout(0.0), nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.dropout(torch.relu(self.linear(x)))).sum(1)


def waves(x):
    return torch.sin(x) * 2 + x.exp()


def branches(x: torch.Tensor) -> torch.Tensor:
    with torch.autograd.profiler.record_function("branches"):
        if x.sum() > 0:  # noqa: SIM108
            y = x.relu()
        else:
            y = x * 2
    return y


def batch():
    return torch.randn(3, 4)


def trained(model, x=None):
    x = batch() if x is None else x
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
    return loss.item()


def steps(model, optimizer):
    for _ in range(3):
        optimizer.zero_grad()
        model(batch()).sum().backward()
        optimizer.step()


FACILITIES = {}


def facility(function):
    FACILITIES[function.__name__] = function
    return function


# ---- graphs


@facility
def jit_trace_function():
    return torch.jit.trace(waves, (batch(),)).code


@facility
def jit_trace_model():
    model, x = Model(), batch()
    return torch.jit.trace(model.eval(), (x,)).code, torch.jit.trace(model.train(), (x,), check_trace=False).code


@facility
def jit_trace_module():
    return torch.jit.trace_module(Model().eval(), {"forward": (batch(),)}).code


@facility
def jit_trace_is_trained():
    return trained(torch.jit.trace(Model().eval(), (batch(),)))


@facility
def jit_script():
    return torch.jit.script(branches)(batch()).sum().item(), torch.jit.script(Model()).code


@facility
def jit_script_is_trained():
    return trained(torch.jit.script(Model()))


@facility
def graph_of_the_tracer():
    graph, _ = torch.jit._get_trace_graph(Model().eval(), (batch(),))
    return sorted({node.kind() for node in graph.nodes()})


@facility
def fx():
    return torch.fx.symbolic_trace(Model()).code


@facility
def make_fx():
    from torch.fx.experimental.proxy_tensor import make_fx

    return make_fx(waves)(batch()).code


@facility
def export():
    return str(torch.export.export(Model().eval(), (batch(),)).graph)


@facility
def export_strict():
    return str(torch.export.export(Model().eval(), (batch(),), strict=True).graph)


@facility
def compiled_fullgraph():
    return trained(torch.compile(Model(), backend="eager", fullgraph=True))


@facility
def compiled_eager():
    return trained(torch.compile(Model(), backend="eager"))


@facility
def compiled_aot():
    return trained(torch.compile(Model(), backend="aot_eager"))


@facility
def compiled_step():
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile(backend="eager")
    def step(x):
        with torch.profiler.record_function("step"):
            loss = (model(x) ** 2).mean()
        return loss

    for _ in range(4):
        optimizer.zero_grad()
        loss = step(batch())
        loss.backward()
        optimizer.step()
    return loss.item()


@facility
def compiled_with_its_gradients():
    model = Model()

    @torch.compile(backend="eager")
    def step(x):
        model.zero_grad()
        loss = (model(x) ** 2).mean()
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter -= 0.1 * gradient
        return loss.detach()

    return [step(batch()).item() for _ in range(4)]


# ---- transforms


@facility
def func():
    from torch.func import functional_call, grad, hessian, jacrev, jvp, vjp, vmap

    x, model = batch(), Model().eval()
    parameters = dict(model.named_parameters())

    def loss(parameters, x):
        return functional_call(model, parameters, (x,)).sum()

    gradients = grad(loss)(parameters, x)
    _, back = vjp(waves, x)
    return [
        vmap(waves)(x).sum().item(),
        grad(lambda x: waves(x).sum())(x).sum().item(),
        hessian(lambda x: waves(x).sum())(x[0]).sum().item(),
        jacrev(waves)(x[0]).sum().item(),
        jvp(waves, (x,), (x,))[1].sum().item(),
        back(x)[0].sum().item(),
        sorted((name, g.sum().item()) for name, g in gradients.items()),
    ]


@facility
def forward_mode():
    import torch.autograd.forward_ad as forward_ad

    with forward_ad.dual_level():
        x = batch()
        return forward_ad.unpack_dual(waves(forward_ad.make_dual(x, x))).tangent.sum().item()


@facility
def gradcheck():
    return torch.autograd.gradcheck(waves, (batch().double().requires_grad_(),))


@facility
def functional():
    x = batch()[0]
    return (
        torch.autograd.functional.jacobian(waves, x).sum().item(),
        torch.autograd.functional.hvp(lambda x: waves(x).sum(), x, x)[1].sum().item(),
    )


# ---- modes and other kinds of tensors


@facility
def fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = model(torch.randn(3, 4)).sum()
        loss.backward()
        optimizer.step()
        return str(loss.shape)


@facility
def meta_tensors():
    with torch.device("meta"):
        model = Model()
        return str(model(torch.randn(3, 4)).device)


@facility
def flops():
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        Model()(batch()).sum().backward()
    return counter.get_total_flops()


@facility
def own_modes():
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(getattr(func, "__name__", str(func)))
            return func(*args, **(kwargs or {}))

    class Operators(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Functions(), Operators():
        model(batch()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    # A function mode of the program's sees a few more attributes read.
    return [name for name in seen if not name.startswith("__") and not hasattr(torch.Tensor, name)] + [
        name for name in seen if "." in name
    ]


@facility
def subclass():
    class Named(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

    x = batch().as_subclass(Named)
    loss = nn.Linear(4, 1)(x).sum()
    loss.backward()
    return type(loss).__name__, loss.item()


@facility
def sparse():
    embedding = nn.EmbeddingBag(10, 4, sparse=True)
    optimizer = torch.optim.SparseAdam(embedding.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = embedding(torch.tensor([[1, 2], [3, 4]])).sum()
        loss.backward()
        optimizer.step()
    return loss.item(), torch.sparse.mm(batch().to_sparse(), torch.ones(4, 2)).sum().item()


@facility
def nested():
    x = torch.nested.nested_tensor([torch.randn(2, 4), torch.randn(3, 4)], requires_grad=True)
    nn.Linear(4, 2)(x).to_padded_tensor(0.0).sum().backward()
    return x.grad.to_padded_tensor(0.0).sum().item()


@facility
def complex_numbers():
    weight = torch.randn(4, 4, dtype=torch.cfloat, requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.fft.ifft(torch.fft.fft(batch()) @ weight).abs().sum()
        loss.backward()
        optimizer.step()
    return loss.item()


@facility
def quantized():
    return torch.ao.quantization.quantize_dynamic(Model().eval(), {nn.Linear})(batch()).sum().item()


# ---- models that are changed, averaged, kept


@facility
def parametrized():
    return trained(nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 1)))), trained(
        nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 1)))
    )


@facility
def pruned():
    import torch.nn.utils.prune as prune

    model = nn.Linear(4, 4)
    prune.l1_unstructured(model, "weight", 2)
    loss = trained(model)
    prune.remove(model, "weight")
    return loss, int((model.weight == 0).sum())


@facility
def averaged():
    model = Model()
    average = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.05)
    for _ in range(3):
        steps(model, optimizer)
        average.update_parameters(model)
        schedule.step()
    torch.optim.swa_utils.update_bn([batch() for _ in range(3)], average)
    return average(batch()).sum().item()


@facility
def saved_and_loaded():
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    steps(model, optimizer)
    kept = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "whole": model}, kept)
    kept.seek(0)
    loaded = torch.load(kept, weights_only=False)
    model.load_state_dict(loaded["model"])
    optimizer.load_state_dict(loaded["optimizer"])
    steps(model, optimizer)
    return copy.deepcopy(loaded["whole"])(batch()).sum().item(), model(batch()).sum().item()


@facility
def hooks():
    model, seen = Model(), []
    model.linear.register_forward_hook(lambda *_: seen.append("forward"))
    model.linear.register_forward_pre_hook(lambda *_: seen.append("before"))
    model.linear.register_full_backward_hook(lambda *_: seen.append("backward"))
    model.linear.weight.register_hook(lambda gradient: gradient * 2)
    model.linear.weight.register_post_accumulate_grad_hook(lambda _: seen.append("accumulated"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.register_step_pre_hook(lambda *_: seen.append("before the step"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after the step"))
    steps(model, optimizer)
    return seen, model.linear.weight.sum().item()


@facility
def lbfgs():
    weight = torch.ones(4, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = ((weight - 3) ** 2).sum()
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(3)]


@facility
def optimizers():
    found = []
    for name in ("ASGD", "Adadelta", "Adagrad", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop"):
        torch.manual_seed(1)
        model = nn.Linear(4, 2)
        steps(model, getattr(torch.optim, name)(model.parameters(), lr=0.01))
        found.append((name, model.weight.sum().item()))
    return found


# ---- looking on


@facility
def profiled():
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        with torch.profiler.record_function("mine"):
            model(batch()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return sorted((event.key, event.count) for event in profile.key_averages())


@facility
def execution_trace():
    from torch.profiler import ExecutionTraceObserver

    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        observer = ExecutionTraceObserver().register_callback(file.name)
        observer.start()
        model(batch()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        observer.stop()
        observer.unregister_callback()
        nodes = json.loads(Path(file.name).read_text())["nodes"]
    return sorted(node["name"] for node in nodes if "Optimizer" in node["name"] or node["name"].startswith("aten::"))


@facility
def anomalies():
    with torch.autograd.detect_anomaly():
        return trained(Model())


@facility
def decorated():
    @torch.no_grad()
    @torch.autograd.profiler.record_function("decorated")
    def evaluated(model):
        return model(batch()).sum().item()

    with torch.inference_mode():
        inferred = Model()(batch()).sum().item()
    return evaluated(Model()), inferred


@facility
def inference():
    with torch.inference_mode():
        memory = torch.empty(3).fill_(1.0)
        model = Model().eval()
        x = batch()
        x += memory.sum()
        memory.add_(model(x))
    return memory.sum().item()


@facility
def threads():
    import threading

    found = []

    def work():
        generator = torch.Generator().manual_seed(3)
        with torch.profiler.record_function("thread"):
            found.append(Model().eval()(torch.ones(3, 4)).isfinite().all().item())
            found.append(torch.rand(2, generator=generator).sum().item())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found


# ---- names and objects of torch


@facility
def introspection():
    import inspect
    import pickle

    functions = [
        torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad, nn.Module.__call__, nn.Module.zero_grad,
        torch.optim.Optimizer.zero_grad, torch.optim.SGD.step, nn.utils.clip_grad_norm_, torch.jit.trace,
        torch.amp.GradScaler.step, torch.utils.checkpoint.checkpoint, nn.functional.cross_entropy,
    ]  # fmt: skip
    described = [(f.__name__, f.__qualname__, f.__module__, str(inspect.signature(f))) for f in functions]
    pickled = [pickle.loads(pickle.dumps(f)) is f for f in (torch.autograd.grad, nn.functional.relu, torch.relu, Model)]
    return described, pickled, isinstance(nn.Linear(2, 2), nn.Module), callable(torch.Tensor.backward)


@facility
def copies():
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=10)
    steps(model, optimizer)
    schedule.step()
    other, of_other = copy.deepcopy((model, optimizer))
    steps(other, of_other)
    return other(batch()).sum().item(), of_other.param_groups[0]["lr"]


@facility
def defaults():
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("cpu")
    try:
        return trained(Model()), torch.ones(2).dtype
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)


@facility
def deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(5)
            inside = trained(Model())
        return inside, torch.rand(1).item()
    finally:
        torch.use_deterministic_algorithms(False)


@facility
def distributions():
    from torch.distributions import Categorical, Normal, kl_divergence

    scale = torch.ones(3, requires_grad=True)
    loss = kl_divergence(Normal(torch.zeros(3), scale * 2), Normal(0.0, 1.0)).sum() - Normal(0.0, scale).rsample().sum()
    loss.backward()
    return scale.grad.sum().item(), Categorical(logits=batch()).sample().tolist()


@facility
def second_derivatives():
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = batch().requires_grad_()
        (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        loss = ((gradient.norm(dim=1) - 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        loss.backward(inputs=list(model.parameters()))
        nn.utils.clip_grad_value_(model.parameters(), 0.1)
        optimizer.step()
    return loss.item()


@facility
def own_operators():
    @torch.library.custom_op("facilities::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    twice.register_autograd(lambda ctx, gradient: gradient * 2)
    x = batch().requires_grad_()
    twice(x).sum().backward()
    return x.grad.sum().item()


@facility
def recurrent():
    from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

    model = nn.LSTM(4, 3, batch_first=True)
    packed = pack_sequence([torch.randn(5, 4), torch.randn(3, 4)])
    padded, lengths = pad_packed_sequence(model(packed)[0], batch_first=True)
    padded.sum().backward()
    return padded.sum().item(), lengths.tolist(), model.weight_ih_l0.grad.sum().item()


@facility
def frozen_and_grown():
    model = Model().to(torch.float64).float()
    model.linear.requires_grad_(False)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1, momentum=0.9)
    steps(model, optimizer)
    model.linear.requires_grad_(True)
    optimizer.add_param_group({"params": model.linear.parameters(), "lr": 0.01})
    steps(model, optimizer)
    model.apply(lambda module: module.reset_parameters() if hasattr(module, "reset_parameters") else None)
    steps(model, optimizer)
    return model(batch()).sum().item(), len(optimizer.param_groups)


@facility
def lazy():
    model = nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(1))
    model(batch())
    return trained(model), str(model)


@facility
def in_processes():
    import torch.multiprocessing as multiprocessing

    shared = torch.zeros(2).share_memory_()
    process = multiprocessing.get_context("fork").Process(target=shared.add_, args=(1,))
    process.start()
    process.join()
    return shared.tolist(), process.exitcode


wanted = sys.argv[1:] or FACILITIES
for name in wanted:
    torch.manual_seed(0)
    try:
        said = re.sub("0x[0-9a-f]+", "...", repr(FACILITIES[name]()).replace("\\n", " "))
    except Exception as error:  # noqa: BLE001
        said = f"{type(error).__name__}: {error}"
    print(f"{name}: {said}", flush=True)
