"""Statistics of batch normalisation for a network with random weights."""

from __future__ import annotations

from typing import Any

_FEW = 16  # values of a channel that say little about its variance
_LEAST = 0.25  # the least standard deviation, in parts of the mean


def settle(network: Any, inputs: tuple[Any, ...]) -> None:
    """Leave ``network`` in evaluation mode, each normalisation with the mean and variance of what
    it reads when the network gets ``inputs``: with those that it was made with, activations of deep
    networks vanish or explode."""
    import torch  # noqa: PLC0415

    def note(norm: Any, read: tuple[Any, ...]) -> None:
        x = read[0].transpose(0, 1).flatten(1)
        mean = x.mean(1)
        few = x.shape[1] < _FEW
        spread = x.var().expand(len(x)) if few else x.var(1)
        norm.running_mean.copy_(mean)
        # No trained channel is all but constant, as some of random weights are: what is left of
        # them behind the subtraction would be rounding.
        norm.running_var.copy_(spread + (_LEAST * mean) ** 2)

    norms = [m for m in network.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    hooks = [norm.register_forward_pre_hook(note) for norm in norms]
    network.eval()
    with torch.no_grad():
        network(*inputs)
    for hook in hooks:
        hook.remove()
