"""The one SQLite file: writer, readers, migrations, journal."""
