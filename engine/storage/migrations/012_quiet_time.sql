-- Times in which the engine did not run, recorded before anything that came due in them fires (the docket).
CREATE TABLE quiet_time (
  id       TEXT PRIMARY KEY,
  kind     TEXT NOT NULL CHECK (kind IN ('DOWNTIME', 'SLEEP', 'RESTORE')),
  began_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  CHECK (ended_at > began_at)
) STRICT;
CREATE INDEX quiet_time_recent ON quiet_time(sequence);
