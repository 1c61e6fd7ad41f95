"""What scikit-learn learns, written by skl2onnx."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from networks.row import Network

_SEED = 0


def _estimators() -> dict[str, tuple[Any, str]]:
    """By name an estimator, and whether it tells digits, tumours or the course of diabetes."""
    from sklearn import decomposition, ensemble, linear_model, neighbors, svm  # noqa: PLC0415
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import PowerTransformer, RobustScaler, StandardScaler  # noqa: PLC0415

    seed = {"random_state": _SEED}
    logistic = linear_model.LogisticRegression
    return {
        "forest": (ensemble.RandomForestClassifier(50, **seed), "digits"),
        "boosting": (ensemble.GradientBoostingRegressor(**seed), "diabetes"),
        "boosting-classes": (
            ensemble.GradientBoostingClassifier(n_estimators=30, **seed),
            "digits",
        ),
        "logistic": (make_pipeline(StandardScaler(), logistic()), "digits"),
        "components": (
            make_pipeline(StandardScaler(), decomposition.PCA(16), logistic()),
            "digits",
        ),
        "power": (make_pipeline(PowerTransformer(), logistic()), "tumours"),
        "svc": (make_pipeline(StandardScaler(), svm.SVC()), "digits"),
        "svc-probability": (
            make_pipeline(StandardScaler(), svm.SVC(probability=True, **seed)),
            "tumours",
        ),
        "svr": (make_pipeline(RobustScaler(), svm.SVR()), "diabetes"),
        "perceptron": (
            make_pipeline(StandardScaler(), MLPClassifier((64, 32), max_iter=60, **seed)),
            "digits",
        ),
        "neighbours": (neighbors.KNeighborsClassifier(5), "digits"),
    }


def _learn(path: str, name: str) -> None:
    import numpy as np  # noqa: PLC0415
    from skl2onnx import to_onnx  # noqa: PLC0415
    from sklearn import datasets  # noqa: PLC0415

    loaders = {
        "digits": datasets.load_digits,
        "tumours": datasets.load_breast_cancer,
        "diabetes": datasets.load_diabetes,
    }
    estimator, data = _estimators()[name]
    x, y = loaders[data](return_X_y=True)
    x = x.astype(np.float32)
    Path(path).write_bytes(to_onnx(estimator.fit(x, y), x[:1]).SerializeToString())


_NAMES = (
    *("forest", "boosting", "boosting-classes", "logistic", "components", "power", "svc"),
    *("svc-probability", "svr", "perceptron", "neighbours"),
)

NETWORKS: dict[str, Network] = {
    f"sklearn-{name}": Network(
        write=partial(_learn, name=name), exporters=("skl2onnx",), needs=("skl2onnx", "sklearn")
    )
    for name in _NAMES
}
