-- Keys of agents and scripts (E-90). The secret of a key is not here: it follows from the person's key, which is
-- a file beside the database, and the identity of the row; so no copy of the database holds one.

CREATE TABLE agent (
  id              TEXT PRIMARY KEY,
  kind            TEXT NOT NULL CHECK (kind IN ('agent', 'script')),
  name            TEXT NOT NULL,
  added_at        INTEGER NOT NULL,
  added_by_kind   TEXT NOT NULL,
  added_by        TEXT NOT NULL,
  revoked_at      INTEGER,
  revoked_by_kind TEXT,
  revoked_by      TEXT,
  reason          TEXT NOT NULL,
  CHECK ((revoked_at IS NULL) = (revoked_by IS NULL)),
  CHECK ((revoked_by IS NULL) = (revoked_by_kind IS NULL))
) STRICT;
CREATE UNIQUE INDEX agent_in_force ON agent(kind, name COLLATE NOCASE) WHERE revoked_at IS NULL;
