"""One run of the token experiments as anyone would write it: dense inputs, nn.Module, autograd, torch.optim.SGD."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy, leaky_relu, normalize

H = {
    "linear": lambda x: x,
    "relu": torch.relu,
    "leaky_relu": lambda x: leaky_relu(x, 0.05),
    "quadratic": lambda x: x**2,
    "sigmoid": torch.sigmoid,
}


class BatchNorm(nn.Module):
    def __init__(self, mean_through, variance_through, eps=1e-5):
        super().__init__()
        self.mean_through, self.variance_through, self.eps = mean_through, variance_through, eps

    def forward(self, y):
        mean = y.mean(0)
        variance = y.var(0, unbiased=False)
        mean = mean if self.mean_through else mean.detach()
        variance = variance if self.variance_through else variance.detach()
        return (y - mean) / torch.sqrt(variance + self.eps)


class PlainNetwork(nn.Module):
    def __init__(self, w, v, activation, batch_norm, views_apart, unit):
        super().__init__()
        self.w = nn.ParameterList([nn.Parameter(each.clone()) for each in w])  # K of [M, d]
        self.v = nn.Parameter(v.flatten(0, 1).mT.clone())  # [j, K·M]
        self.h, self.views_apart, self.unit = H[activation], views_apart, unit
        through = {"both": (1, 1), "mean": (1, 0), "variance": (0, 1), "none": (0, 0)}
        self.norm = nn.Identity() if batch_norm == "off" else BatchNorm(*through[batch_norm])

    def hidden(self, x):
        return torch.cat([self.h(x[:, k] @ w.mT) for k, w in enumerate(self.w)], 1)

    def forward(self, x, x_view):
        f, f_view = self.hidden(x), self.hidden(x_view)
        if self.views_apart:
            f, f_view = self.norm(f), self.norm(f_view)
        else:
            f, f_view = self.norm(torch.cat([f, f_view])).chunk(2)
        f, f_view = f @ self.v.mT, f_view @ self.v.mT
        return (normalize(f, dim=1), normalize(f_view, dim=1)) if self.unit else (f, f_view)


def similarities(f, f_view):
    """Inner products of first views, with the positive pairs on the diagonal."""
    s = f @ f.mT
    on = torch.eye(len(f), dtype=torch.bool)
    return torch.where(on, (f * f_view).sum(1)[:, None].expand_as(s), s)


def plain_loss(name, f, f_view):
    """The printed form of a loss, between two views of a batch; every name of `LOSSES` needs its own."""
    n = len(f)
    if name == "infonce":
        return cross_entropy(similarities(f, f_view) / 0.1, torch.arange(n))
    if name in ("quadratic", "quadratic_over_tau"):
        s = similarities(f, f_view) / (0.1 if name == "quadratic_over_tau" else 1)
        return -(1 + 1 / n) * s.diagonal().mean() + s.mean()
    apart = (f[:, None] - f[None]).square().sum(-1) / 2
    together = (f - f_view).square().sum(-1)[:, None] / 2
    if name == "triplet":
        return (torch.relu(together - apart + 0.5) * (1 - torch.eye(n))).mean()
    if name == "gaussian":
        alpha = torch.exp(-apart / 0.1).detach()
        return (alpha * (together - apart)).mean()
    raise ValueError(f"no printed form of the loss {name!r}: write it in plain_loss")


def plain_training(training, weights, tokens, unit=True, steps=200):
    """Final filters and top layer of one run; tokens `[step, 2N, K]`, weights of that run."""
    net = PlainNetwork(weights.w, weights.v, training.activation, training.batch_norm, training.views_apart, unit)
    optimizer = torch.optim.SGD(
        net.parameters(), lr=training.rate, momentum=training.momentum, weight_decay=training.weight_decay
    )
    half = training.tokens // 2
    norms = [training.zeta] * half + [1 / training.zeta] * (training.tokens - half)
    embedding = torch.diag(torch.tensor(norms, dtype=weights.w.dtype))
    for step in range(steps):
        optimizer.zero_grad()
        f, f_view = net(*embedding[tokens[step].long()].chunk(2))
        plain_loss(training.loss, f, f_view).backward()
        optimizer.step()
    w = torch.stack([each.detach() for each in net.w])
    return w, net.v.detach().mT.unflatten(0, w.shape[:2])
