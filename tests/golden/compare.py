"""Comparison of a recorded case with what the code gives today, field by field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from tests.golden import names

__all__ = ["differences"]

_MISSING = object()
#: What an empty place of a table holds.
_NOTHING = frozenset({"NaN", "", None})
#: Columns of words.
_WORDS = frozenset({"backend", "group", "method", "note", "reference", "verdict"})
#: Shares of draws: one that no seed hit may be hit by another (five of 10,000, the fewest draws
#: recorded).
_RARE = frozenset({"p_rope", "undefined"})
_FEW_DRAWS = 5e-4
_NON_FINITE = frozenset({"NaN", "Infinity", "-Infinity"})


def differences(
    case: str, kind: str, recorded: Any, today: Any, spread: Mapping[str, Any] | None = None
) -> list[str]:
    """Messages, one per field that differs.

    `spread` holds what varied over seeds when it was recorded.
    """
    walk = _Walk(case, kind, spread or {})
    walk.value(recorded, today, "", "*")
    return walk.found


@dataclass
class _Walk:
    case: str
    kind: str
    spread: Mapping[str, Any]
    found: list[str] = field(default_factory=list)

    def value(self, old: Any, new: Any, path: str, owner: str) -> None:
        """Compare two values; `owner` is the class whose field it is."""
        if isinstance(old, dict):
            self._dictionary(old, new, path, owner)
        elif isinstance(old, list):
            self._list(old, new, path, owner)
        else:
            self._leaf(old, new, path)

    def _say(self, path: str, text: str) -> None:
        if path not in self.spread:
            self.found.append(f"{self.case}:{path}: {text}")

    def _dictionary(self, old: dict[str, Any], new: Any, path: str, owner: str) -> None:
        if not isinstance(new, dict):
            self._say(path, f"recorded an object with {sorted(old)[:6]}, today {_short(new)}")
            return
        if "class" in old and "result class" in new:  # what was a mere record is a result now
            new = new["fields"]
        for key in ("class", "result class"):
            if key in old:
                owner = str(old[key])
        if "columns" in old and len(old) == 1:
            self.columns(old["columns"], new.get("columns", {}), f"{path}/columns")
            return
        for key, value in old.items():
            below = f"{path}/{key}"
            if key in ("class", "result class"):
                wanted = names.CLASSES.get(value, value)
                if new.get(key) != wanted:
                    self._say(
                        below, f"the class {value!r} is {new.get(key)!r} today (names.CLASSES)"
                    )
                continue
            place = f"{owner}.attributes" if path.endswith("/attributes") else owner
            today = self._today(new, place, key)
            if today is _MISSING:
                if not _gone(place, key):
                    self._say(
                        below,
                        f"{place}.{key} is missing today, which has {sorted(new)} (names.FIELDS,"
                        " GONE)",
                    )
                continue
            self.value(value, today, below, owner)

    def columns(self, old: dict[str, Any], new: Any, path: str) -> None:
        """Compare the columns of a table."""
        for key, value in old.items():
            today = self._today(new, "table", key)
            if today is not _MISSING:
                self.value(value, today, f"{path}/{key}", "table")
            elif not _gone("table", key):
                self._say(
                    f"{path}/{key}", f"the table has no column {key!r} today, but {sorted(new)}"
                )

    def _today(self, new: dict[str, Any], place: str, key: str) -> Any:
        for entry in _entries(place, key):
            wanted = names.FIELDS.get(entry)
            if callable(wanted):
                return wanted(new)
            for name in (wanted,) if isinstance(wanted, str) else (wanted or ()):
                value = _down(new, name)
                if value is not _MISSING:
                    return value
        return new.get(key, _MISSING)

    def _list(self, old: list[Any], new: Any, path: str, owner: str) -> None:
        if path.endswith("/notes") and isinstance(new, list):
            old, new = (
                [n for n in notes if not names.EXPLAINED.search(str(n))] for notes in (old, new)
            )
        if not isinstance(new, list) or len(new) != len(old):
            if all(isinstance(v, str) for v in old) and self._reworded(path):
                return
            size = len(new) if isinstance(new, list) else _short(new)
            self._say(
                path, f"recorded {len(old)} entries {_short(old)}, today {size}: {_short(new)}"
            )
            return
        for k, (a, b) in enumerate(zip(old, new, strict=True)):
            self.value(a, b, f"{path}/{k}", owner)

    def _leaf(self, old: Any, new: Any, path: str) -> None:
        if _is_text(old) and old != new:
            for pattern, words in names.REPLACED.items():
                if fnmatchcase(f"{self.case}:{path}", pattern):
                    for before, after in words.items():
                        old = old.replace(before, after)
        if old == new and type(old) is type(new):
            return
        if "/columns/" in path and old in _NOTHING:
            filled = (
                _is_text(new) and path.split("/")[-2] in _WORDS
            )  # an empty place may name something now
            if new in _NOTHING or filled:
                return
        if _is_number(old) and _is_number(new):
            self._numbers(float(old), float(new), path)
        elif path in self.spread and _varied(self.spread[path], new):
            return
        elif not (_is_text(old) and _is_text(new) and self._reworded(path)):
            self.found.append(f"{self.case}:{path}: recorded {old!r}, today {new!r}")

    def _numbers(self, old: float, new: float, path: str) -> None:
        kind = self._kind(path)
        gap = abs(old - new)
        if kind == "any" or (kind == "seeded" and self._within_monte_carlo(old, new, path)):
            return
        # A seeded number whose stream is unchanged may still come from an optimiser.
        relative = 1e-12 if kind == "closed" else 1e-8
        allowed = relative * max(1.0 if kind == "closed" else 1e-3, abs(old))
        if "pvalue" in path and old:  # far in the tail only the relative distance says something
            allowed = min(allowed, max(1e3 * relative, 1e-8) * abs(old))
            if abs(old) >= _LEAST_EXACT:
                allowed = max(allowed, _ROUNDING_OF_SUMS)
        if gap > allowed:
            self.found.append(
                f"{self.case}:{path}: recorded {old!r}, today {new!r}: {gap:.2e} apart,"
                f" {allowed:.2e} allowed ({kind})"
            )

    def _within_monte_carlo(self, old: float, new: float, path: str) -> bool:
        """Within four Monte Carlo errors of the mean over the recorded seeds (of their t law)."""
        found = self.spread.get(path)
        if _RARE & set(path.split("/")[-2:]) and max(new, old) <= _FEW_DRAWS:
            return True
        if not isinstance(found, list) or len(found) != 3:
            return False
        mean, sd, repeats = found
        return bool(abs(new - mean) <= _FACTOR[repeats] * sd * math.sqrt(1 + 1 / repeats))

    def _kind(self, path: str) -> str:
        return next(
            (k for p, (k, _) in names.KINDS.items() if fnmatchcase(f"{self.case}:{path}", p)),
            self.kind,
        )

    def _reworded(self, path: str) -> bool:
        return any(fnmatchcase(f"{self.case}:{path}", p) for p in names.REWORDED)


#: p-values of exact tests hold the error of the nuisance rate's interval, 1e-7: none is below. They
#: are sums of some thousand probabilities, each 1 − P of a tail, and sums differ by their rounding
#: from one processor to another: on two of them by 4e-14 at 1e-7, by 2e-12 at .9 and, where an
#: adjustment multiplies them, by 1.1e-12 at 8e-7.
_LEAST_EXACT = 0.99e-7
_ROUNDING_OF_SUMS = 3e-12


class _Factors(dict[int, float]):
    """Four standard errors as a quantile of Student's t: the error is estimated, from few seeds."""

    def __missing__(self, repeats: int) -> float:
        from scipy.stats import norm, t

        self[repeats] = float(t.isf(norm.sf(4.0), repeats - 1))
        return self[repeats]


_FACTOR = _Factors()


def _varied(seen: Any, new: Any) -> bool:
    """Whether a text or a kind of leaf varied over seeds, so that today's may, too."""
    return isinstance(seen, dict) or isinstance(new, str)


def _gone(place: str, key: str) -> bool:
    return any(entry in names.GONE for entry in _entries(place, key))


def _entries(place: str, key: str) -> tuple[str, ...]:
    """The keys under which `names` may speak of a field, the closest first."""
    if place.endswith(".attributes"):
        return f"{place}.{key}", f"attributes.{key}"
    return f"{place}.{key}", f"*.{key}"


def _down(new: dict[str, Any], name: str) -> Any:
    found: Any = new
    for part in name.split("."):
        if not isinstance(found, dict) or part not in found:
            return _MISSING
        found = found[part]
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value not in _NON_FINITE


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 160 else text[:157] + "…"
