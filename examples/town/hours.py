"""The opening hours of the town office, for the office and for the tools of the guide."""

HOURS = {
    "monday": "8 to 12",
    "tuesday": "8 to 12",
    "wednesday": "closed",
    "thursday": "8 to 12 and 14 to 18",
    "friday": "8 to 12",
}


def hours_of(day: str) -> str:
    return HOURS.get(day.strip().lower(), "closed")
