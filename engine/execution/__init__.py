"""Running one authorised attempt under control and keeping its evidence."""
