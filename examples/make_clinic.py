"""Write examples/clinic.csv, generated patients of a clinic that does not exist: `python examples/make_clinic.py`."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

TARGET = Path(__file__).with_name("clinic.csv")
ROWS = 8_000


def clinic(rows: int = ROWS, seed: int = 7) -> pa.Table:
    """Older and heavier patients have higher pressure, more diabetes, longer stays and higher costs."""
    generator = np.random.default_rng(seed)
    age = np.clip(generator.gamma(9.0, 6.0, rows), 18, 100).astype(np.int64)
    sex = np.where(generator.random(rows) < 0.53, "female", "male")
    smoker = generator.random(rows) < np.where(age < 60, 0.27, 0.14)
    bmi = np.clip(generator.normal(24.5 + 0.05 * (age - 50), 4.2), 14.0, 60.0)
    pressure = np.clip(generator.normal(100 + 0.45 * age + 0.9 * (bmi - 25) + 4 * smoker, 11.0), 80, 220)
    risk = -5.0 + 0.045 * age + 0.13 * (bmi - 25) + 0.35 * smoker + 0.02 * (pressure - 125)
    diabetes = generator.random(rows) < 1 / (1 + np.exp(-risk))
    ward = np.where(
        age > 70, "geriatrics", generator.choice(["surgery", "medicine", "cardiology"], rows, p=[0.4, 0.4, 0.2])
    )
    days = np.clip(1 + generator.poisson(1.5 + 0.03 * age + 2.0 * diabetes), 1, 60)
    cost = np.clip(np.exp(generator.normal(6.4 + 0.07 * days + 0.3 * (ward == "surgery"), 0.45)), 0, 50_000)
    admitted = np.datetime64("2023-01-01") + generator.integers(0, 730, rows)
    plan = np.array(["basic", "standard", "private"])[
        np.clip(np.rint(generator.normal(0.6 + cost / 9000, 0.6)), 0, 2).astype(int)
    ]
    return pa.table(
        {
            "age": age,
            "sex": sex,
            "smoker": smoker,
            "bmi": pa.array(bmi.round(1), mask=generator.random(rows) < 0.06),
            "pressure": pressure.astype(np.int64),
            "diabetes": diabetes,
            "ward": ward,
            "plan": plan,
            "admitted": pa.array(admitted, pa.date32()),
            "days": days,
            "cost": cost.round(0),
        }
    )


if __name__ == "__main__":
    pyarrow.csv.write_csv(clinic(), TARGET, pyarrow.csv.WriteOptions(quoting_style="none"))
