"""Figures for people; matplotlib and plotext come with the extra `report` and are imported late."""
