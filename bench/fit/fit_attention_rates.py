#!/usr/bin/env python3
"""Fits the three constants a pass of `roofline` to MagiAttention's published one-GPU rows. See docs/cost-model.md.

usage: fit_attention_rates.py HISTOGRAM.csv     (needs numpy and scipy)
"""
import csv
import sys

import numpy as np
from scipy.optimize import least_squares

HEADS, KV_HEADS, HEAD_DIM, BLOCK, DRAWS = 64, 8, 128, 128, 20
PUBLISHED = {  # pass: (flop per channel and pair, TFLOP/s by thousands of tokens)
    "forward": (4, {1: 60, 2: 218, 4: 357, 8: 484, 16: 543, 32: 584}),
    "backward": (10, {1: 53, 2: 114, 4: 206, 8: 318, 16: 375, 32: 425}),
}


def read_histogram(path):
    rows = list(csv.reader(open(path)))[1:]
    edges = [[int(x) for x in r[0].strip("[]").split(",")] for r in rows]
    counts = np.array([int(r[1]) for r in rows], float)
    return edges, counts / counts.sum()


def draw(rng, histogram, total):
    """Lengths that add up to `total`, none above a quarter of it."""
    edges, share = histogram
    lengths, left = [], total
    while left > 0:
        low, high = edges[rng.choice(len(edges), p=share)]
        length = int(rng.integers(max(1, low), high + 1))
        if length <= total // 4:
            lengths.append(min(length, left))
            left -= lengths[-1]
    return lengths


def features(length):
    """Visited (row, key) pairs, row blocks and visible pairs of one document, over all heads."""
    full, rest = divmod(length, BLOCK)
    visited = BLOCK * BLOCK * full * (full + 1) // 2 + rest * BLOCK * (full + 1)
    packed = length * HEADS // KV_HEADS
    blocks = -(-packed // BLOCK)
    unfilled = (blocks * BLOCK - packed) * BLOCK
    return np.array([visited * HEADS + unfilled * KV_HEADS, blocks * KV_HEADS, length * (length + 1) // 2 * HEADS], float)


def main():
    histogram = read_histogram(sys.argv[1])
    rng = np.random.default_rng(7)
    batches = {k: [sum(map(features, draw(rng, histogram, k * 1024))) for _ in range(DRAWS)] for k in (1, 2, 4, 8, 16, 32)}
    for name, (flop, published) in PUBLISHED.items():

        def rate(x, k):
            peak, block_ns, launch_us = x
            times = [v * flop * HEAD_DIM / (peak * 1e12) + b * block_ns * 1e-9 + launch_us * 1e-6 for v, b, _ in batches[k]]
            return np.mean([a * flop * HEAD_DIM / t for (_, _, a), t in zip(batches[k], times)]) / 1e12

        fit = least_squares(lambda x: [np.log(rate(x, k) / t) for k, t in published.items()], [600, 0.1, 30],
                            bounds=([100, 0, 0], [1500, 1e3, 500]), x_scale=[100, 0.1, 10])
        print(f"{name}: {fit.x[0]:.1f} TFLOP/s, {fit.x[1]:.3f} ns a block, {fit.x[2]:.1f} us a launch")
        print("   ", {k: (round(rate(fit.x, k)), t) for k, t in published.items()}, "(model, published) by thousands of tokens")


main()
