"""FairGBM 0.9.14 and AdaFair 0.1.5 in an environment of their own, asked by `hfm_pool`.

Neither runs beside today's scikit-learn. This file is run by the Python of that environment (3.9,
numpy 1.23.5, scikit-learn 1.1.3, pandas below 2.1, six) and imports nothing of this package. It
reads one request a line from standard input and answers with one line:

    {"do": "fit", "model": "FairGBM", "file": "rows.npz", "name": "1"}       X, y, sensitive column
    {"do": "predict", "file": "rows.npz", "name": "1", "out": "labels.npy"}"""

import json
import sys
import warnings

import numpy as np

SEED = 1


def fit(model, X, y, sensitive):
    """A fitted model that predicts labels 0 and 1."""
    group = X[:, sensitive].astype(int)
    if model == "FairGBM":
        from fairgbm import FairGBMClassifier

        fitted = FairGBMClassifier(
            constraint_type="FNR", n_estimators=100, random_state=SEED, n_jobs=1
        )
        fitted.fit(X, y, constraint_group=group)
        return fitted
    from adafair import AdaFair

    # the protected group is coded 0; its base learner is the stump of AdaBoost
    fitted = AdaFair(n_estimators=50, saIndex=sensitive, saValue=0, CSB="CSB1", random_state=SEED)
    fitted.fit(X, y)
    return fitted


def main():
    """Answer requests until the input ends."""
    warnings.simplefilter("ignore")
    # what a library prints must not be read as an answer
    answers = sys.stdout
    sys.stdout = sys.stderr
    models = {}
    for text in sys.stdin:
        request = json.loads(text)
        rows = np.load(request["file"])
        try:
            if request["do"] == "fit":
                models[request["name"]] = fit(
                    request["model"], rows["X"], rows["y"], int(rows["sensitive"])
                )
            else:
                labels = np.asarray(models[request["name"]].predict(rows["X"])).astype(int)
                np.save(request["out"], labels)
            answer = {"done": True}
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            # told to the other side, which raises it
            answer = {"done": False, "error": repr(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
