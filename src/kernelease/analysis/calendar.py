"""Numbers that are dates: days or microseconds since 1970, as people write them."""

import math
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum, unique
from typing import final

_EPOCH = date(1970, 1, 1)


@final
@unique
class Calendar(StrEnum):
    """What an estimate's number counts: days, or microseconds."""

    DATE = "date"
    DATETIME = "datetime"

    @property
    def day(self) -> float:
        """How many units a day has."""
        return 1.0 if self is Calendar.DATE else 86_400e6

    def moment(self, value: float) -> date | datetime | None:
        """The day or the second of a number; None where it is none.

        >>> Calendar.DATE.moment(19000.4), Calendar.DATETIME.moment(1e15)
        (datetime.date(2022, 1, 8), datetime.datetime(2001, 9, 9, 1, 46, 40))
        """
        if not math.isfinite(value):
            return None
        if self is Calendar.DATE:
            return _EPOCH + timedelta(days=math.floor(value))
        return datetime.fromtimestamp(0, UTC).replace(tzinfo=None) + timedelta(seconds=round(value / 1e6))

    def told(self, value: float) -> str:
        """As ISO 8601."""
        moment = self.moment(value)
        return "no limit" if moment is None else moment.isoformat()
