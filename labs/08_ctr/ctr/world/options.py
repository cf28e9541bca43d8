"""What a generated log is like: its size, its ids, what is hard about it; and the presets by name."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from gpukit.registry import nearest

from ..errors import CtrError
from ..schema import MOST_ROWS

DAY = 86_400  # seconds

# Smallest and largest value that each number may have.
_BOUNDS: dict[str, tuple[float, float]] = {
    "rows": (1, 10**12),
    "days": (2, 365),
    "validation_days": (0, 364),
    "test_days": (0, 364),
    "members": (2, MOST_ROWS),
    "ads": (2, MOST_ROWS),
    "campaigns": (2, MOST_ROWS),
    "devices": (2, 10_000),
    "countries": (2, 1_000_000),
    "slots": (2, 1_000_000),
    "member_exponent": (0.0, 2.0),
    "ad_exponent": (0.0, 2.0),
    "country_exponent": (0.0, 2.0),
    "slot_exponent": (0.0, 2.0),
    "base_rate": (0.03, 0.25),
    "factors": (1, 64),
    "drift": (0.0, 3.0),
    "new_ads": (0.0, 0.5),
    "new_members": (0.0, 0.5),
    "usual_device": (0.0, 1.0),
    "bucket": (1, 30 * DAY),
    "label_delay": (0, 30 * DAY),
    "smoothing": (0.01, 1e6),
    "negative_rate": (0.001, 1.0),
    "seed": (0, 2**63 - 1),
    "shard_rows": (1, 2**26),
}


@dataclass(frozen=True, slots=True)
class Options:
    """A world and the log drawn from it. Raises CtrError for a number outside its bounds.

    Sizes of fields count the rows of the embedding table, row 0 (unknown) included: `members=2_000` are the ids 1 to
    1,999. Times are in seconds, and second 0 is a midnight.
    """

    rows: int = 1_500_000  # impressions; where negative_rate < 1 the log keeps fewer of them
    days: int = 10
    validation_days: int = 1  # the day before the test
    test_days: int = 2  # the last days

    members: int = 2_000
    ads: int = 200
    campaigns: int = 50  # each ad belongs to one
    devices: int = 10
    countries: int = 20
    slots: int = 50
    member_exponent: float = 0.7  # impressions of the k-th busiest go as k ** -exponent
    ad_exponent: float = 1.05
    country_exponent: float = 1.0
    slot_exponent: float = 0.8

    base_rate: float = 0.1  # clicks per impression, over the whole log
    factors: int = 4  # K: numbers in the hidden taste of a member and the hidden content of an ad
    drift: float = 0.1  # how much the logit of a campaign moves from the first second to the last: standard deviation
    new_ads: float = 0.2  # share of the ads that are born during the log
    new_members: float = 0.05
    usual_device: float = 0.8  # share of a member's impressions on the usual device

    bucket: int = 1_800  # historical counts are brought up to date this often
    label_delay: int = 1_800  # whether an impression was clicked is known this much later
    smoothing: float = 20.0  # impressions that the prior of a historical CTR weighs
    leaky: bool = False  # historical CTR over the whole log, own click included: the mistake to find
    negative_rate: float = 1.0  # share of the training rows without a click that is kept

    seed: int = 0
    shard_rows: int = 131_072

    def __post_init__(self) -> None:
        for option in fields(self):
            self._check(option.name, getattr(self, option.name), whole=option.type == "int")
        if self.ads < self.campaigns:
            raise CtrError(f"{self.ads} ads cannot fill {self.campaigns} campaigns: give each campaign an ad at least")
        if self.validation_days + self.test_days >= self.days:
            raise CtrError(
                f"{self.validation_days} days of validation and {self.test_days} of test leave nothing of {self.days} "
                "days to train on: make the log longer"
            )

    @staticmethod
    def _check(name: str, value: Any, *, whole: bool) -> None:
        if name == "leaky":
            if not isinstance(value, bool):
                raise CtrError(f"leaky={value!r} is neither True nor False")
            return
        low, high = _BOUNDS[name]
        number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not low <= value <= high:
            kind = "a whole number" if whole else "a number"
            raise CtrError(f"{name}={value!r} is not {kind} from {low:,} to {high:,}: give one")

    @property
    def seconds(self) -> int:
        return self.days * DAY

    @property
    def validation_begins(self) -> int:
        """Seconds: everything before is for training."""
        return (self.days - self.validation_days - self.test_days) * DAY

    @property
    def test_begins(self) -> int:
        return (self.days - self.test_days) * DAY

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


# Busy enough that a model can come near the best possible: members have 750 impressions each.
DEFAULT = Options()
# The same in a fifth of the rows, for tests of quality; and without the drift that no model can follow.
SMALL = Options(rows=300_000, members=400, ads=60, campaigns=15, devices=6, countries=10, slots=20, factors=2)
STEADY = replace(SMALL, drift=0.0)
# Members have 30 impressions each, so that their own click weighs in a CTR that contains it: for `leaky`.
SPARSE = replace(SMALL, members=10_000, ads=1_000, campaigns=100)
# Tables as large as those of the model whose speed is measured; most members are seen too rarely to learn from.
FACTS = Options(
    rows=20_000_000,
    members=10_000_000,
    ads=1_000_000,
    campaigns=100_000,
    devices=10,
    countries=250,
    slots=1_000,
    shard_rows=262_144,
)

PRESETS: dict[str, Options] = {
    "default": DEFAULT,
    "small": SMALL,
    "steady": STEADY,
    "sparse": SPARSE,
    "facts": FACTS,
}


def preset(name: str = "default", **changes: Any) -> Options:
    """Options by name, some of them changed. Raises CtrError for a name that is none, and as `Options` does."""
    if name not in PRESETS:
        raise CtrError(f"there is no preset {name!r}{nearest(name, PRESETS)}: there are {', '.join(PRESETS)}")
    names = [option.name for option in fields(Options)]
    other = next((change for change in changes if change not in names), None)
    if other is not None:
        raise CtrError(f"there is no option {other!r}{nearest(other, names)}: there are {', '.join(names)}")
    return replace(PRESETS[name], **changes)
