"""Which back end fits, and what happens when R fails or is worse: with a stand-in for R."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest
from scipy.stats import genpareto

from fairstats.ground.backends import use_backend
from fairstats.ground.errors import BackendError, DataWarning, InputError, RBackendError
from fairstats.ground.rprobe import RProbe
from fairstats.numerics.evt import backends, fit_gev, fit_gpd, fit_point_process
from fairstats.numerics.evt.backends import RBackend, scipy_backend
from fairstats.numerics.evt.tail import ParameterFit

X = np.random.default_rng(1).exponential(size=800)


def stand_in(**functions: Any) -> Any:
    """SciPy's functions as R's, under another version, some of them replaced."""
    names = ("gpd_mle", "gev_mle", "gpd_lmoments", "gev_lmoments")
    every = {name: functions.get(name, getattr(scipy_backend, name)) for name in names}
    kernel = types.SimpleNamespace(version=lambda: "r: stand-in 1.0")
    for name, own in every.items():  # what is for R gets the twin, too
        setattr(kernel, name, lambda values, twin=None, own=own: own(values))
    return kernel


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Any:
    def put(kernel: Any) -> None:
        monkeypatch.setattr(backends, "_choose_backend", lambda backend, method: kernel)

    return put


def worse(excesses: np.ndarray) -> ParameterFit:
    fit = scipy_backend.gpd_mle(excesses)
    return ParameterFit(fit.params * 1.3, fit.covariance, fit.nll + 0.5)


def test_both_have_the_contract() -> None:
    """Both hold the same functions with the same return types."""
    assert scipy_backend.version().startswith("scipy ")
    for name in ("version", "gpd_mle", "gev_mle", "gpd_lmoments", "gev_lmoments"):
        ours, theirs = (
            getattr(kernel, name).__annotations__ for kernel in (scipy_backend, RBackend())
        )
        assert (
            ours["return"] == theirs["return"] == ("str" if name == "version" else "ParameterFit")
        )
    with pytest.raises(AttributeError):
        _ = scipy_backend.point_process_mle  # the process is the excesses' fit, transformed


def test_the_back_end_is_said(use: Any) -> None:
    assert fit_gpd(X, 1.0, backend="scipy").backend.startswith("scipy")
    use(stand_in())
    for fit in (fit_gpd(X, 1.0), fit_gev(X[:60]), fit_point_process(X, 1.0, 100)):
        assert fit.backend == "r: stand-in 1.0"
        assert set(fit.to_frame()["backend"]) == {"r: stand-in 1.0"}
        assert fit.return_level(500).backend == "r: stand-in 1.0"


def test_intervals_are_the_same_for_both(use: Any) -> None:
    ours = fit_gpd(X, 1.0)
    use(stand_in())
    assert (
        fit_gpd(X, 1.0).return_level(500).confidence_interval
        == ours.return_level(500).confidence_interval
    )


def test_a_worse_fit_of_r_is_not_returned(use: Any) -> None:
    use(stand_in(gpd_mle=worse))
    with pytest.warns(DataWarning, match="negative log-likelihood of .* SciPy's fit is returned"):
        fit = fit_gpd(X, 1.0)
    assert fit.backend.startswith("scipy")
    assert fit.params == fit_gpd_by_scipy().params


def test_wrong_standard_errors_of_r_are_not_returned(use: Any) -> None:
    """Steps of 1e-3 fail for very heavy tails.

    Errors up to 99% too small, at the right parameters.
    """

    def doubtful(maxima: np.ndarray) -> ParameterFit:
        fit = scipy_backend.gev_mle(maxima)
        assert fit.covariance is not None
        return ParameterFit(fit.params, 0.81 * fit.covariance, fit.nll)

    use(stand_in(gev_mle=doubtful))
    with pytest.warns(DataWarning, match=r"10% off SciPy's.*SciPy's fit is returned"):
        assert fit_gev(X[:60]).backend.startswith("scipy")
    with pytest.warns(DataWarning, match=r"10% off SciPy's.*as asked"):
        assert fit_gev(X[:60], backend="r").backend == "r: stand-in 1.0"


def test_no_back_end_is_asked_where_there_is_no_maximum(use: Any) -> None:
    use(stand_in(gev_mle=lambda maxima: pytest.fail("asked")))
    with pytest.raises(InputError, match="no maximum"):
        fit_gev(np.r_[np.full(6, 1.0), 1.1, 1.2, 2.0, 5.0, 30.0, 200.0])


def test_a_worse_fit_of_r_is_returned_where_r_was_asked_for(use: Any) -> None:
    use(stand_in(gpd_mle=worse))
    with pytest.warns(DataWarning, match="as asked"):
        fit = fit_gpd(X, 1.0, backend="r")
    assert fit.backend == "r: stand-in 1.0"
    assert fit.scale == pytest.approx(1.3 * fit_gpd_by_scipy().scale)


def fit_gpd_by_scipy() -> Any:
    from fairstats.numerics.evt.gpd import fit_gpd_samples
    from fairstats.numerics.evt.likelihood import Samples

    found = fit_gpd_samples(Samples.from_excesses(np.sort(X[X > 1.0])[None, :] - 1.0))
    return types.SimpleNamespace(
        scale=found.scale[0], params={"scale": found.scale[0], "shape": found.shape[0]}
    )


@pytest.mark.parametrize("error", [BackendError("no maximum"), RBackendError("in fevd: failure")])
def test_a_failure_of_r_falls_back_or_passes(use: Any, error: Exception) -> None:
    def fail(values: np.ndarray) -> ParameterFit:
        raise error

    use(stand_in(gpd_mle=fail, gev_mle=fail))
    with pytest.warns(DataWarning, match="SciPy's fit is returned"):
        assert fit_gpd(X, 1.0).backend.startswith("scipy")
    with pytest.warns(DataWarning, match="SciPy's fit is returned"):
        assert fit_gev(X[:60], backend="auto").backend.startswith("scipy")
    with pytest.raises(type(error)):
        fit_gpd(X, 1.0, backend="r")


def test_r_asked_for_by_use_backend_is_not_replaced(
    use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`use_backend` and the variable mean what the argument means: R, or an error."""

    def fail(values: np.ndarray) -> ParameterFit:
        raise BackendError("no maximum")

    use(stand_in(gpd_mle=fail, gev_mle=lambda x: ParameterFit(*worse_gev(x))))
    with use_backend("r"):
        with pytest.raises(BackendError, match="no maximum"):
            fit_gpd(X, 1.0)
        with pytest.warns(DataWarning, match="as asked"):
            assert fit_gev(X[:60]).backend == "r: stand-in 1.0"
    with use_backend("auto"), pytest.warns(DataWarning, match="SciPy's fit is returned"):
        assert fit_gpd(X, 1.0).backend.startswith("scipy")
    monkeypatch.setattr("fairstats.ground.backends._chosen", None)
    monkeypatch.setenv("FAIRSTATS_BACKEND", "r")
    with pytest.raises(BackendError, match="no maximum"):
        fit_gpd(X, 1.0)


def worse_gev(maxima: np.ndarray) -> tuple[Any, ...]:
    fit = scipy_backend.gev_mle(maxima)
    return fit.params * 1.1, fit.covariance, fit.nll + 0.5


@pytest.mark.parametrize(
    ("installed", "backend", "method", "expected"),
    [
        (("evd",), "r", "mle", "r: evd 2.3"),
        (("evd", "extRemes"), "r", "mle", "r: extRemes 2.3"),
        (("evd",), "auto", "mle", "scipy"),
        (("evd", "extRemes"), "auto", "lmoments", "r: extRemes 2.3"),
        ((), "auto", "lmoments", "scipy"),
        (("evd",), "r", "lmoments", None),
        ((), "r", "mle", None),
    ],
)
def test_which_package_of_r(
    monkeypatch: pytest.MonkeyPatch,
    installed: tuple[str, ...],
    backend: str,
    method: str,
    expected: str | None,
) -> None:
    """extRemes; evd in its place only where R is asked for by name.

    Without either an error or SciPy.
    """
    found = RProbe("ok", r_version="4.2.2", packages=dict.fromkeys(installed, "2.3"))
    for name in ("ground.backends", "numerics.evt.backends"):
        monkeypatch.setattr(f"fairstats.{name}.probe_r", lambda: found)
    if expected is None:
        with pytest.raises(BackendError, match="extRemes"):
            backends._choose_backend(backend, method)
    else:
        assert backends._choose_backend(backend, method).version().startswith(expected)


def test_r_lmoments_get_our_standard_errors(use: Any) -> None:
    ours = fit_gpd(X, 1.0, method="lmoments")
    use(stand_in())
    theirs = fit_gpd(X, 1.0, method="lmoments")
    np.testing.assert_array_equal(theirs.covariance, ours.covariance)


@pytest.mark.parametrize(("method", "shape"), [("lmoments", 0.7), ("mle", -0.7)])
def test_an_irregular_fit_has_no_standard_errors(method: str, shape: float) -> None:
    """L-moments have a variance below ξ = 1/2 (Hosking 1990), the likelihood above −1/2 (Smith
    1985).
    """
    x = genpareto.rvs(shape, size=2000, random_state=np.random.default_rng(2))
    fit = fit_gpd(x, 0.0, method=method, backend="scipy")
    assert fit.shape == pytest.approx(shape, abs=0.15)
    assert not fit.regular
    assert np.isnan(fit.covariance).all()


def test_fits_load_neither_scipy_stats_nor_matplotlib_nor_r() -> None:
    import subprocess
    import sys

    code = (
        "import sys, numpy as np\nfrom fairstats.numerics.evt import fit_gpd, tail_type,"
        " threshold_stability\nfit = fit_gpd(np.arange(100.0) ** 2, 900.0,"
        " backend='scipy')\nfit.to_frame(), fit.return_level(50), fit.endpoint(),"
        " fit.exceedance_probability(5000.0)\nheavy = {'scipy.stats', 'scipy.optimize',"
        " 'matplotlib', 'rpy2', 'statsmodels'} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
