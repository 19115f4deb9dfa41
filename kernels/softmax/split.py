"""A row split into pieces that all cores share: torch's softmax of each, merged afterwards.

A piece of maximum m and sum l = Σ exp(x - m) weighs exp(m - M) · l in its row of maximum M.
The softmax of a piece is one over l where x is at its maximum, so l is read off the result.
"""

from __future__ import annotations

import torch

from . import contract


def softmax(
    x: torch.Tensor, *, piece: int = 262144, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns], in pieces of so many columns.

    A row that is one piece has nothing to merge and is torch's softmax as it is. Refuses
    what `contract.prepare` refuses.
    """
    out = contract.prepare(x, out)
    if x.numel() == 0 or x.shape[1] <= piece:
        return torch.softmax(x, dim=-1, out=out)
    pairs = tuple(zip(_pieces(x, piece), _pieces(out, piece), strict=True))
    maxima, sums = [], []
    for part, result in pairs:
        torch.softmax(part, dim=-1, out=result)
        top = torch.amax(part, dim=-1)  # [rows, pieces]
        empty = torch.isneginf(top)
        if empty.any():
            result[empty] = 0  # NaN so far, and it would outlive its weight of zero
        maxima.append(top)
        sums.append(torch.amax(result, dim=-1).reciprocal_().masked_fill_(empty, 0))
    for (_, result), weight in zip(pairs, _weights(maxima, sums), strict=True):
        result.mul_(weight.unsqueeze(-1))
    return out


def _pieces(matrix: torch.Tensor, piece: int) -> list[torch.Tensor]:
    """Views [rows, pieces, columns] of a matrix: the whole pieces, then the ragged rest."""
    whole = matrix.shape[1] // piece * piece
    views = [matrix[:, :whole].unflatten(1, (-1, piece))]
    if whole < matrix.shape[1]:
        views.append(matrix[:, whole:].unsqueeze(1))
    return views


def _weights(maxima: list[torch.Tensor], sums: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The share of each piece in its row, [rows, pieces] as in the lists given."""
    top = torch.cat(maxima, dim=1)
    share = torch.exp(top - torch.amax(top, dim=1, keepdim=True)) * torch.cat(sums, dim=1)
    share /= torch.sum(share, dim=1, keepdim=True)
    return share.split([part.shape[1] for part in maxima], dim=1)
