"""A world of members and ads, drawn from a seed: who sees what, and the probability that a click follows.

The logit of a click is a sum of what a logistic regression on the ids and numbers can learn, of what needs products of
pairs (a factorization machine), and of what needs more (a network):

    biases of member, ad, campaign, device, country and slot, and numbers of the context     linear
    <taste of the member, content of the ad>, and a product of two numbers                   pairs
    a number that is best in the middle, and hours that differ by device                     neither
    a slope of the campaign over time                                                        nothing can: it drifts

Source: the requirements are gathered from what public generators lack: DLRM's RandomDataset, TorchRec's
RandomRecDataset and HugeCTR's DataGenerator draw labels that do not depend on the features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..schema import Field, Schema
from .options import DAY, Options
from .zipf import Alias, zipf

FIELDS = ("member", "ad", "campaign", "device", "country", "slot")
MEMBER, AD, CAMPAIGN, DEVICE, COUNTRY, SLOT = range(6)
CONTEXT = 4
DENSE = (
    *("ad_ctr", "campaign_ctr", "member_ctr"),  # clicks per impression so far
    *("ad_impressions", "campaign_impressions", "member_impressions"),  # log(1 + impressions so far)
    "ad_age",  # log(1 + days)
    *("hour_sin", "hour_cos"),
    *("context_1", "context_2", "context_3", "context_4"),  # standard normal
)
AGE, HOUR_SIN, FIRST_CONTEXT = 6, 7, 9

# Standard deviations of the parts of the logit.
_MEMBER, _AD, _CAMPAIGN, _DEVICE, _COUNTRY, _SLOT = 0.45, 0.3, 0.4, 0.2, 0.25, 0.3
_TASTE = 0.8  # of <taste, content>
_AD_SHARE = 0.5  # of the variance of an ad's content; the rest is its campaign's
_HOURS = 0.3
_LINEAR = (0.3, -0.2, 0.1, 0.25)
_PRODUCT = 0.4  # of context_1 * context_2
_MIDDLE = 0.9  # of cos(2 * context_3)

_OLDEST = 30 * DAY  # ads that are there from the start are up to this old
_PILOT = 2**17  # impressions by which the base rate is set
_BLOCK = 2**15  # rows worked on together: what they need fits into a cache
_HOUR_OF_DAY = 24
_TRAFFIC = 0.5  # how much more than the mean the busiest hour has


def schema_of(options: Options) -> Schema:
    """Of the log that is drawn from a world."""
    counts = (options.members, options.ads, options.campaigns, options.devices, options.countries, options.slots)
    return Schema(tuple(Field(*field) for field in zip(FIELDS, counts, strict=True)), DENSE)


@dataclass(frozen=True, slots=True)
class Impressions:
    """A shard as it is drawn: ids (rows, 6) int32, dense (rows, 13) float32 whose history is not filled in yet, labels
    (rows,) uint8, times (rows,) int64, p (rows,) float64, kept (rows,) bool: what negative downsampling leaves."""

    ids: np.ndarray
    dense: np.ndarray
    labels: np.ndarray
    times: np.ndarray
    p: np.ndarray
    kept: np.ndarray


class World:
    """The parameters of a world; `draw` makes its impressions.

    Each table is drawn from a stream of its own, so that a larger field does not change the others. Two packed tables
    of float32 hold what an impression needs of its member and of its ad, so that each costs one line of the cache:

    member  taste (factors) | bias, of the country too | since | country (int32) | usual device (int32)
    ad      content (factors) | bias, of the campaign too | since | campaign (int32) | slope
    """

    def __init__(self, options: Options):
        self.options = options
        self.schema = schema_of(options)
        members, ads, campaigns, devices, countries, slots = (field.rows - 1 for field in self.schema.fields)
        factors = options.factors
        # -- time
        hours = np.arange(options.days * _HOUR_OF_DAY + 1)
        traffic = 1 + _TRAFFIC * np.sin(2 * np.pi * (hours[:-1] % _HOUR_OF_DAY - 10) / _HOUR_OF_DAY)
        self._share = np.concatenate(([0.0], np.cumsum(traffic) / traffic.sum()))  # of the impressions before an hour
        self._hours = hours * 3_600.0
        minute = np.arange(DAY // 60) * (2 * np.pi / (DAY // 60))
        self._clock = np.stack([np.sin(minute), np.cos(minute)], axis=1).astype(np.float32)
        # -- how often
        self.probabilities = {  # (ids,) float64 of id 1 on
            "member": zipf(members, options.member_exponent, self._stream(0)),
            "ad": zipf(ads, options.ad_exponent, self._stream(1)),
            "slot": zipf(slots, options.slot_exponent, self._stream(2)),
        }
        self._alias = {name: Alias.of(p) for name, p in self.probabilities.items()}
        # -- members
        rng = self._stream(3)
        country = Alias.of(zipf(countries, options.country_exponent, rng)).draw(rng, members) + 1
        country_bias = _normal(rng, _COUNTRY, countries + 1)
        self._member = np.empty((members, factors + 4), np.float32)
        rng = self._stream(4)
        self._member[:, :factors] = _normal(rng, 1.0, (members, factors))
        self._member[:, factors] = _normal(rng, _MEMBER, members) + country_bias[country]
        self._member[:, factors + 1] = self._since(rng, members, options.new_members)
        self._member.view(np.int32)[:, factors + 2] = country
        self._member.view(np.int32)[:, factors + 3] = rng.integers(1, devices + 1, members)
        # -- ads
        rng = self._stream(5)
        campaign = rng.permutation(np.arange(ads) % campaigns) + 1
        centre = _normal(rng, (1 - _AD_SHARE) ** 0.5, (campaigns + 1, factors))
        campaign_bias = _normal(rng, _CAMPAIGN, campaigns + 1)
        slope = _normal(rng, options.drift, campaigns + 1)
        rng = self._stream(6)
        self._ad = np.empty((ads, factors + 4), np.float32)
        content = centre[campaign] + _normal(rng, _AD_SHARE**0.5, (ads, factors))
        self._ad[:, :factors] = content * np.float32(_TASTE / factors**0.5)
        self._ad[:, factors] = _normal(rng, _AD, ads) + campaign_bias[campaign]
        self._ad[:, factors + 1] = self._since(rng, ads, options.new_ads)
        self._ad.view(np.int32)[:, factors + 2] = campaign
        self._ad[:, factors + 3] = slope[campaign]
        # -- where and when
        rng = self._stream(7)
        self._slot_bias = _normal(rng, _SLOT, slots + 1)
        self._device_hour = _curves(rng, devices + 1) + _normal(rng, _DEVICE, devices + 1)[:, None]
        self.base = 0.0
        self.base = self._base()

    def _stream(self, *key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.options.seed, spawn_key=key))

    def _since(self, rng: np.random.Generator, count: int, new: float) -> np.ndarray:
        """(count,) float32, seconds: since when there is an id. A share `new` comes during the log."""
        since = -_OLDEST * rng.random(count)
        late = rng.permutation(count)[: int(count * new)]
        since[late] = self.options.seconds * rng.random(len(late))
        return since.astype(np.float32)

    def _base(self) -> float:
        """The constant of the logit that gives the base rate, from a pilot log of its own stream."""
        logits = np.log(1 / (1 / self._draw(self._stream(8), 0, _PILOT, _PILOT).p - 1))
        low, high = -30.0, 30.0
        while high - low > 1e-9:
            middle = (low + high) / 2
            rate = float(np.mean(_sigmoid(logits + middle)))
            low, high = (middle, high) if rate < self.options.base_rate else (low, middle)
        return (low + high) / 2

    @property
    def shards(self) -> int:
        return -(-self.options.rows // self.options.shard_rows)

    def draw(self, shard: int) -> Impressions:
        """The impressions of one shard, whatever was drawn before."""
        first = shard * self.options.shard_rows
        rows = min(self.options.shard_rows, self.options.rows - first)
        return self._draw(self._stream(9, shard), first, rows, self.options.rows)

    def _draw(self, rng: np.random.Generator, first: int, rows: int, total: int) -> Impressions:
        """Rows `first` on of a log of `total`."""
        drawn = Impressions(
            np.empty((rows, len(FIELDS)), np.int32),
            np.empty((rows, len(DENSE)), np.float32),
            np.empty(rows, np.uint8),
            np.empty(rows, np.int64),
            np.empty(rows, np.float64),
            np.empty(rows, bool),
        )
        for start in range(0, rows, _BLOCK):
            block = slice(start, min(start + _BLOCK, rows))
            self._fill(rng, drawn, block, first + start, total)
        return drawn

    def _fill(self, rng: np.random.Generator, drawn: Impressions, block: slice, first: int, total: int) -> None:
        options, factors = self.options, self.options.factors
        rows = block.stop - block.start
        # Each row has a share 1 / total of the traffic and lies anywhere in it: times are sorted, and nobody sorts.
        seconds = np.interp((np.arange(first, first + rows) + rng.random(rows)) / total, self._share, self._hours)
        drawn.times[block] = seconds
        minute = (seconds * (1 / 60)).astype(np.int32) % (DAY // 60)

        member, of_member = self._pick(rng, "member", self._member, seconds, options.new_members)
        ad, of_ad = self._pick(rng, "ad", self._ad, seconds, options.new_ads)
        slot = self._alias["slot"].draw(rng, rows)
        slot += 1
        device = of_member.view(np.int32)[:, factors + 3]
        elsewhere = rng.random(rows, np.float32) >= options.usual_device
        device = np.where(elsewhere, rng.integers(1, options.devices, rows, np.int32), device)
        ids = drawn.ids[block]
        ids[:, MEMBER] = member
        ids[:, MEMBER] += 1
        ids[:, AD] = ad
        ids[:, AD] += 1
        ids[:, CAMPAIGN] = of_ad.view(np.int32)[:, factors + 2]
        ids[:, DEVICE] = device
        ids[:, COUNTRY] = of_member.view(np.int32)[:, factors + 2]
        ids[:, SLOT] = slot

        dense = drawn.dense[block]
        age = (seconds - of_ad[:, factors + 1]).astype(np.float32)
        dense[:, AGE] = np.log(age * np.float32(1 / DAY) + np.float32(1))
        dense[:, HOUR_SIN:FIRST_CONTEXT] = self._clock.take(minute, axis=0)
        context = rng.standard_normal((CONTEXT, rows), np.float32)
        dense[:, FIRST_CONTEXT:] = context.T

        logit = np.einsum("ij,ij->i", of_member[:, :factors], of_ad[:, :factors])
        logit += of_member[:, factors]
        logit += of_ad[:, factors]
        logit += self._device_hour.reshape(-1).take(device * _HOUR_OF_DAY + minute // 60)
        logit += self._slot_bias.take(slot)
        for weight, number in zip(_LINEAR, context, strict=True):
            logit += np.float32(weight) * number
        logit += np.float32(_PRODUCT) * context[0] * context[1]
        logit += np.float32(_MIDDLE) * np.cos(2 * context[2])
        logit += of_ad[:, factors + 3] * (seconds / options.seconds - 0.5).astype(np.float32)

        p = _sigmoid(logit.astype(np.float64) + self.base)
        clicked = rng.random(rows) < p
        drawn.p[block] = p
        drawn.labels[block] = clicked
        if options.negative_rate < 1:  # of the training days alone: the others are what comes in
            kept = clicked | (rng.random(rows) < options.negative_rate)
            drawn.kept[block] = kept | (drawn.times[block] >= options.validation_begins)
        else:
            drawn.kept[block] = True

    def _pick(
        self, rng: np.random.Generator, name: str, table: np.ndarray, seconds: np.ndarray, new: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows of a table of members or ads, and what it holds of them; those not there yet are drawn again."""
        which = self._alias[name].draw(rng, len(seconds))
        found = table.take(which, axis=0)
        if new:
            since = self.options.factors + 1
            again = np.flatnonzero(found[:, since] > seconds)
            while again.size:
                which[again] = self._alias[name].draw(rng, again.size)
                found[again] = table.take(which[again], axis=0)
                again = again[found[again, since] > seconds[again]]
        return which, found


def _normal(rng: np.random.Generator, deviation: float, shape: int | tuple[int, ...]) -> np.ndarray:
    drawn = rng.standard_normal(shape, np.float32)
    drawn *= np.float32(deviation)
    return drawn


def _curves(rng: np.random.Generator, count: int) -> np.ndarray:
    """(count, 24) float32: a day and half a day, each with a height and a place of its own."""
    turn = 2 * np.pi * np.arange(_HOUR_OF_DAY) / _HOUR_OF_DAY
    waves = np.stack([np.cos(turn), np.sin(turn), np.cos(2 * turn), np.sin(2 * turn)]).astype(np.float32)
    return _normal(rng, _HOURS / 2**0.5, (count, len(waves))) @ waves


def _sigmoid(logit: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logit))
