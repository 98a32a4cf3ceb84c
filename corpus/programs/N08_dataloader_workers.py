#cause: bad-input
#phase: data
#step: 3
#scored: 0
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
torch.manual_seed(0)
class Rows(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        x = torch.randn(6, generator=g)
        if i == 29:
            x[2] = float("nan")  # CAUSE
        return {"x": x, "y": x.nan_to_num().sum()}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(6, 16), nn.SiLU(), nn.Linear(16, 1))
    def forward(self, batch):
        return self.f(batch["x"]).squeeze(-1)  # ORIGIN
def main():
    model = Model()
    opt = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    for step, batch in enumerate(DataLoader(Rows(), batch_size=8, num_workers=2)):
        loss = nn.functional.smooth_l1_loss(model(batch), batch["y"])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        print(step, loss.item())
if __name__ == "__main__":
    main()
