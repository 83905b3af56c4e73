"""leastnoise."""
