-- Clock trust (E-30 to E-33): the last reading, the high water, and every anomaly with both of its readings.

CREATE TABLE clock_state (
  id               INTEGER PRIMARY KEY CHECK (id = 1),
  wall             INTEGER NOT NULL,
  elapsed_ms       INTEGER NOT NULL,
  awake_ms         INTEGER NOT NULL,
  boot             TEXT NOT NULL,
  high_water       INTEGER NOT NULL,
  distrusted_since INTEGER
) STRICT;

CREATE TABLE clock_anomaly (
  id                TEXT PRIMARY KEY,
  kind              TEXT NOT NULL CHECK (kind IN
    ('BELOW_HIGH_WATER', 'WALL_BACK', 'WALL_FORWARD', 'ELAPSED_BACK', 'SUSPEND')),
  size_ms           INTEGER NOT NULL CHECK (size_ms >= 0),
  wall_before       INTEGER NOT NULL,
  elapsed_before_ms INTEGER NOT NULL,
  boot_before       TEXT NOT NULL,
  wall_after        INTEGER NOT NULL,
  elapsed_after_ms  INTEGER NOT NULL,
  boot_after        TEXT NOT NULL,
  sequence          INTEGER NOT NULL
) STRICT;
CREATE INDEX clock_anomaly_sequence ON clock_anomaly(sequence);
