# ---
# id: T06
# title: multi-task student with dict outputs is distilled from a teacher; tasks with a reduced label set mask the student's logits, not the teacher's
# verdict: nonfinite
# cause: masked-class-in-loss
# also_accept: []
# phase: forward
# phase_accept: ["forward"]
# step: [4]
# lines: [52]
# op: aten.sub
# fix: mask-the-teacher-too
# source: made for this project
# ---
import os
import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(21)
CLASSES = 8
TASKS = {"full": list(range(8)), "coarse": [0, 1, 2, 3]}


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, width), nn.SiLU())
        self.heads = nn.ModuleDict({"label": nn.Linear(width, CLASSES), "quality": nn.Linear(width, 1)})

    def forward(self, batch):
        h = self.trunk(batch["x"])
        return {"logits": self.heads["label"](h), "quality": self.heads["quality"](h).squeeze(1), "hidden": h}


def allow(logits, task):
    mask = torch.full((CLASSES,), float("-inf"))
    mask[TASKS[task]] = 0.0
    return logits + mask


def criterion(out, soft, batch):
    log_q = allow(out["logits"], batch["task"]).log_softmax(-1)
    p = allow(soft["logits"], batch["task"]) if FIX else soft["logits"]
    p = (p / 2.0).softmax(-1)
    if FIX:
        log_q = log_q.masked_fill(p == 0, 0.0)
    return {
        "hard": F.nll_loss(log_q, batch["y"]),
        "distil": 0.5 * F.kl_div(log_q, p, reduction="batchmean"),  # <-- ORIGIN
        "quality": 0.1 * F.mse_loss(out["quality"], batch["q"]),
    }


def sample(task):
    x = torch.randn(24, 10)
    y = x[:, :len(TASKS[task])].argmax(1)
    return {"x": x, "y": y, "q": x.norm(dim=1), "task": task}


teacher, student = Net(32).eval(), Net(12)
with torch.no_grad():
    teacher.heads["label"].weight.mul_(4.0)
teacher.requires_grad_(False)
opt = torch.optim.AdamW([{"params": student.trunk.parameters()},
                         {"params": student.heads.parameters(), "lr": 5e-3}], lr=2e-3)
schedule = ["full"] * 4 + ["coarse", "full", "coarse", "full"]
for step, task in enumerate(schedule):
    batch = sample(task)
    with torch.no_grad():
        soft = teacher(batch)
    losses = criterion(student(batch), soft, batch)
    loss = sum(losses.values())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, task, {k: round(v.item(), 4) for k, v in losses.items()})
