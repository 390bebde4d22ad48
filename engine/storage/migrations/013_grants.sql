-- Standing grants (E-42a): an approval given beforehand, for few uses of one exact thing, for a short time.
-- template: the plan's canonical JSON with null for what is free; its digest stands for it.
-- A grant and its uses outlive the work orders they were for, so they name them and do not refer to them.

CREATE TABLE standing_grant (
  id                TEXT PRIMARY KEY,
  state             TEXT NOT NULL CHECK (state IN ('LIVE', 'USED_UP', 'EXPIRED', 'REVOKED', 'VOID')),
  made_from         TEXT NOT NULL,
  number            INTEGER NOT NULL,
  title             TEXT NOT NULL,
  lane              TEXT NOT NULL,
  project           TEXT NOT NULL,
  requested_by_kind TEXT NOT NULL,
  requested_by      TEXT NOT NULL,
  seal              TEXT NOT NULL,
  template          TEXT NOT NULL,
  template_digest   TEXT NOT NULL CHECK (length(template_digest) = 64),
  free              TEXT NOT NULL,
  any_state         INTEGER NOT NULL CHECK (any_state IN (0, 1)),
  validation_seal   TEXT,
  validation_plan   TEXT,
  given_by_kind     TEXT NOT NULL CHECK (given_by_kind = 'person'),
  given_by          TEXT NOT NULL,
  reason            TEXT NOT NULL DEFAULT '',
  given_at          INTEGER NOT NULL,
  ends_at           INTEGER NOT NULL,
  max_uses          INTEGER NOT NULL CHECK (max_uses > 0),
  uses              INTEGER NOT NULL DEFAULT 0 CHECK (uses >= 0 AND uses <= max_uses),
  ended_at          INTEGER,
  ended_by_kind     TEXT,
  ended_by          TEXT,
  end_reason        TEXT NOT NULL DEFAULT '',
  CHECK (ends_at > given_at),
  CHECK ((validation_seal IS NULL) = (validation_plan IS NULL)),
  CHECK ((state = 'LIVE') = (ended_at IS NULL)),
  CHECK ((ended_at IS NULL) = (ended_by IS NULL)),
  CHECK (state <> 'USED_UP' OR uses = max_uses)
) STRICT;
CREATE INDEX standing_grant_live ON standing_grant(lane, ends_at, id) WHERE state = 'LIVE';
CREATE INDEX standing_grant_ending ON standing_grant(ends_at, id) WHERE state = 'LIVE';

CREATE TABLE grant_use (
  grant_id      TEXT NOT NULL REFERENCES standing_grant(id),
  ordinal       INTEGER NOT NULL CHECK (ordinal > 0),
  approval_id   TEXT NOT NULL UNIQUE,
  work_order_id TEXT NOT NULL,
  number        INTEGER NOT NULL,
  title         TEXT NOT NULL,
  free_values   TEXT NOT NULL,
  used_at       INTEGER NOT NULL,
  PRIMARY KEY (grant_id, ordinal)
) STRICT;
