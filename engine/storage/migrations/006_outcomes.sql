-- Outcomes: what a person's decision was based on (E-72), and what a finished stage hands over (E-73).

CREATE TABLE decision_proof (
  decision_id TEXT NOT NULL REFERENCES decision(id),
  ordinal     INTEGER NOT NULL CHECK (ordinal > 0),
  name        TEXT NOT NULL,
  sha256      TEXT NOT NULL,
  size        INTEGER NOT NULL CHECK (size >= 0),
  PRIMARY KEY (decision_id, ordinal)
) STRICT;
CREATE INDEX decision_proof_digest ON decision_proof(sha256);
CREATE INDEX decision_attempt ON decision(attempt_id, decided_at) WHERE attempt_id IS NOT NULL;

-- accepted_at with to_task_id: by the next stage, in the commit that makes it; without: by a person who
-- accepted the work. What is left open when the work order ends was taken up by nobody.
CREATE TABLE handoff (
  id              TEXT PRIMARY KEY,
  work_order_id   TEXT NOT NULL REFERENCES work_order(id),
  from_task_id    TEXT NOT NULL REFERENCES task(id),
  from_attempt_id TEXT NOT NULL REFERENCES attempt(id),
  to_task_id      TEXT UNIQUE REFERENCES task(id),
  evidence_id     TEXT REFERENCES evidence(id),
  evidence_sha256 TEXT,
  summary         TEXT NOT NULL,
  questions       TEXT NOT NULL,
  written_at      INTEGER NOT NULL,
  accepted_at     INTEGER,
  accepted_by_kind TEXT,
  accepted_by     TEXT,
  CHECK ((evidence_id IS NULL) = (evidence_sha256 IS NULL)),
  CHECK ((accepted_at IS NULL) = (accepted_by IS NULL)),
  CHECK (to_task_id IS NULL OR accepted_at IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX handoff_open ON handoff(from_attempt_id) WHERE accepted_at IS NULL;
CREATE INDEX handoff_work_order ON handoff(work_order_id, written_at, id);
CREATE INDEX handoff_from ON handoff(from_attempt_id);
