"""Hyper-parameters to try next: Optuna's sampler where it is installed, scikit-learn's otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from fairstats.ground.errors import InputError, MissingDependencyError

__all__ = ["proposals"]


def proposals(
    distributions: Mapping[str, Any], sampler: str, seed: int
) -> tuple[Iterator[dict[str, Any]], Callable[[float], None] | None]:
    """Parameters to try, one set after the other, and what is to be told of each (lower is better).

    Parameters
    ----------
    distributions : mapping of name to list or distribution
        Distributions of `scipy.stats`, frozen.
    sampler : {"auto", "optuna", "random"}
    seed : int

    Raises
    ------
    InputError
        Something that is neither a list nor a distribution.
    MissingDependencyError
        "optuna" is not installed.
    """
    for name, choices in distributions.items():
        if not (hasattr(choices, "rvs") and hasattr(choices, "ppf")) and not _is_list(choices):
            raise InputError(
                "param_distributions",
                got=f"{type(choices).__name__} for {name!r}",
                allowed="a list of values, or a frozen distribution of scipy.stats",
                cure="scipy.stats.loguniform(1e-3, 1e3)",
            )
    installed = find_spec("optuna") is not None
    if sampler == "optuna" and not installed:
        raise MissingDependencyError("optuna", extra="search", purpose="sampler='optuna'")
    if sampler == "random" or not installed:
        return _random(distributions, seed), None
    return _optuna(distributions, seed)


def _is_list(choices: Any) -> bool:
    return isinstance(choices, (list, tuple)) and len(choices) > 0


def _random(distributions: Mapping[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    from sklearn.model_selection import ParameterGrid, ParameterSampler

    if all(_is_list(v) for v in distributions.values()):
        count = len(ParameterGrid(dict(distributions)))
    else:
        count = 1_000_000
    yield from ParameterSampler(dict(distributions), n_iter=count, random_state=seed)


def _optuna(
    distributions: Mapping[str, Any], seed: int
) -> tuple[Iterator[dict[str, Any]], Callable[[float], None]]:
    import optuna

    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    optuna.logging.set_verbosity(level)
    current: list[Any] = []

    def ask() -> Iterator[dict[str, Any]]:
        while True:
            trial = study.ask()
            current.append(trial)
            yield {name: _suggested(trial, name, choices) for name, choices in distributions.items()}

    def tell(value: float) -> None:
        study.tell(current.pop(), value)

    return ask(), tell


def _suggested(trial: Any, name: str, choices: Any) -> Any:
    """A value; distributions through their quantile function."""
    if _is_list(choices):
        return choices[trial.suggest_categorical(name, list(range(len(choices))))]
    value = choices.ppf(trial.suggest_float(name, 1e-9, 1 - 1e-9))
    return int(value) if float(value).is_integer() and hasattr(choices.dist, "pmf") else float(value)
