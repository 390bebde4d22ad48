-- The alarm clock: wakes, series, lanes, the docket, events, receipts (wakes.md).
-- Instants are INTEGER epoch milliseconds, durations INTEGER milliseconds, JSON is TEXT.

-- A recurring schedule: the pattern of its wakes. Up to booked_to its grid was booked or skipped.
CREATE TABLE wake_series (
  id              TEXT PRIMARY KEY,
  workspace       TEXT NOT NULL,
  session         TEXT,
  kind            TEXT NOT NULL,
  lane            TEXT,
  intent          TEXT NOT NULL,
  rule            TEXT NOT NULL,
  catch_up        TEXT NOT NULL CHECK (catch_up IN ('all', 'latest', 'none', 'ask')),
  catch_up_most   INTEGER NOT NULL CHECK (catch_up_most > 0),
  grace_ms        INTEGER NOT NULL CHECK (grace_ms > 0),
  until           INTEGER,
  count           INTEGER CHECK (count > 0),
  expires_in      INTEGER CHECK (expires_in > 0),
  state           TEXT NOT NULL CHECK (state IN ('active', 'paused', 'broken', 'ended', 'cancelled')),
  error           TEXT,
  booked_to       INTEGER NOT NULL,
  booked          INTEGER NOT NULL CHECK (booked >= 0),
  skipped         INTEGER NOT NULL DEFAULT 0 CHECK (skipped >= 0),
  depth           INTEGER NOT NULL CHECK (depth >= 0),
  idempotency_key TEXT,
  fingerprint     TEXT,
  created_by_kind TEXT NOT NULL,
  created_by      TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  ended_at        INTEGER,
  CHECK ((ended_at IS NOT NULL) = (state IN ('ended', 'cancelled'))),
  CHECK ((error IS NOT NULL) = (state = 'broken'))
) STRICT;
CREATE INDEX wake_series_list ON wake_series(workspace, created_at, id);
CREATE INDEX wake_series_broken ON wake_series(id) WHERE state = 'broken';
CREATE INDEX wake_series_ended ON wake_series(ended_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX wake_series_key ON wake_series(workspace, idempotency_key, created_at)
  WHERE idempotency_key IS NOT NULL;
CREATE UNIQUE INDEX wake_series_key_live ON wake_series(workspace, idempotency_key)
  WHERE idempotency_key IS NOT NULL AND state IN ('active', 'paused', 'broken');

-- seq is the order of creation and never comes back. armed_at: this pending wake has no lane or is the head of
-- its idle lane, and may be claimed from then on; a claim looks at armed wakes alone, so it costs the same at
-- any backlog. claim only grows and fences every later step of a drive. waiting: set aside, out of its lane.
-- admitted_at: first claimed, answered or expired; from then on expires_at no longer matters.
CREATE TABLE wake (
  seq              INTEGER PRIMARY KEY AUTOINCREMENT,
  id               TEXT NOT NULL UNIQUE,
  workspace        TEXT NOT NULL,
  session          TEXT,
  trigger          TEXT NOT NULL CHECK (trigger IN ('at', 'on_event', 'on_approval')),
  kind             TEXT NOT NULL,
  lane             TEXT,
  intent           TEXT NOT NULL,
  result           TEXT,
  expired          INTEGER NOT NULL DEFAULT 0 CHECK (expired IN (0, 1)),
  event_key        TEXT,
  position         INTEGER,
  token_digest     TEXT,
  answered_by_kind TEXT,
  answered_by      TEXT,
  due_at           INTEGER,
  expires_at       INTEGER,
  state            TEXT NOT NULL DEFAULT 'pending'
    CHECK (state IN ('pending', 'firing', 'fired', 'expired', 'cancelled', 'dead')),
  waiting          TEXT CHECK (waiting IN ('no_sink', 'docket')),
  admitted_at      INTEGER,
  armed_at         INTEGER,
  lease_until      INTEGER,
  holder           TEXT,
  claim            INTEGER NOT NULL DEFAULT 0,
  attempts         INTEGER NOT NULL DEFAULT 0,
  not_before       INTEGER,
  late_ms          INTEGER,
  missed           INTEGER NOT NULL DEFAULT 0,
  last_error       TEXT,
  recurrence       TEXT,
  series           TEXT,
  idempotency_key  TEXT,
  fingerprint      TEXT,
  depth            INTEGER NOT NULL CHECK (depth >= 0),
  origin           TEXT NOT NULL CHECK (origin IN ('caller', 'sink', 'series')),
  created_by_kind  TEXT NOT NULL,
  created_by       TEXT NOT NULL,
  created_at       INTEGER NOT NULL,
  ended_at         INTEGER,
  CHECK ((trigger = 'on_event') = (event_key IS NOT NULL)),
  CHECK ((trigger = 'on_approval') = (token_digest IS NOT NULL)),
  CHECK (trigger <> 'at' OR due_at IS NOT NULL),
  CHECK ((state = 'firing') = (lease_until IS NOT NULL)),
  CHECK ((state = 'firing') = (holder IS NOT NULL)),
  CHECK ((state IN ('pending', 'firing')) = (ended_at IS NULL)),
  CHECK (armed_at IS NULL OR (state = 'pending' AND waiting IS NULL AND due_at IS NOT NULL)),
  CHECK (waiting IS NULL OR state = 'pending')
) STRICT;
CREATE INDEX wake_armed ON wake(armed_at, expired, seq) WHERE armed_at IS NOT NULL;
CREATE INDEX wake_answered ON wake(due_at, seq)
  WHERE state = 'pending' AND trigger <> 'at' AND admitted_at IS NOT NULL;
-- At most one armed or firing wake a lane: a constraint, not a hope.
CREATE UNIQUE INDEX wake_head ON wake(workspace, lane)
  WHERE lane IS NOT NULL AND (armed_at IS NOT NULL OR state = 'firing');
CREATE INDEX wake_queue ON wake(workspace, lane, due_at, seq)
  WHERE lane IS NOT NULL AND state = 'pending' AND armed_at IS NULL AND waiting IS NULL AND due_at IS NOT NULL;
CREATE INDEX wake_lease ON wake(lease_until, seq) WHERE state = 'firing';
CREATE INDEX wake_expiry ON wake(expires_at, seq)
  WHERE state = 'pending' AND admitted_at IS NULL AND expires_at IS NOT NULL AND series IS NULL;
CREATE INDEX wake_watch ON wake(workspace, event_key, seq)
  WHERE state = 'pending' AND trigger = 'on_event' AND admitted_at IS NULL;
CREATE INDEX wake_seen ON wake(workspace, event_key, position) WHERE position IS NOT NULL;
CREATE UNIQUE INDEX wake_token ON wake(token_digest) WHERE token_digest IS NOT NULL;
CREATE INDEX wake_key ON wake(workspace, idempotency_key, created_at) WHERE idempotency_key IS NOT NULL;
CREATE UNIQUE INDEX wake_key_live ON wake(workspace, idempotency_key)
  WHERE idempotency_key IS NOT NULL AND state IN ('pending', 'firing');
CREATE UNIQUE INDEX wake_occurrence ON wake(series, due_at) WHERE series IS NOT NULL AND state <> 'cancelled';
CREATE INDEX wake_of_series ON wake(series, seq) WHERE series IS NOT NULL;
CREATE INDEX wake_live ON wake(workspace, state, lane) WHERE state IN ('pending', 'firing');
CREATE INDEX wake_made_by_callers ON wake(workspace, created_at) WHERE origin = 'caller';
CREATE INDEX wake_made_in_lane ON wake(workspace, lane, created_at) WHERE origin <> 'caller' AND lane IS NOT NULL;
CREATE INDEX wake_made_of_kind ON wake(workspace, kind, created_at) WHERE origin <> 'caller' AND lane IS NULL;
CREATE INDEX wake_waiting ON wake(waiting, kind, seq) WHERE waiting IS NOT NULL;
CREATE INDEX wake_dead ON wake(seq) WHERE state = 'dead';
CREATE INDEX wake_ended ON wake(ended_at, seq) WHERE state IN ('fired', 'expired', 'cancelled');
CREATE INDEX wake_list ON wake(workspace, coalesce(due_at, 253402300799999), seq);

-- What a lane was told, and whether it stands still because a wake of it is dead.
CREATE TABLE wake_lane (
  workspace       TEXT NOT NULL,
  lane            TEXT NOT NULL,
  stop_on_failure INTEGER NOT NULL CHECK (stop_on_failure IN (0, 1)),
  stopped_by      TEXT,
  PRIMARY KEY (workspace, lane)
) STRICT;

-- Missed occurrences that a person is to decide about.
CREATE TABLE wake_docket (
  id              TEXT PRIMARY KEY,
  wake_id         TEXT NOT NULL,
  series          TEXT NOT NULL REFERENCES wake_series(id),
  workspace       TEXT NOT NULL,
  first_missed    INTEGER NOT NULL,
  last_missed     INTEGER NOT NULL,
  missed          INTEGER NOT NULL CHECK (missed > 0),
  opened_at       INTEGER NOT NULL,
  decided_at      INTEGER,
  decision        TEXT CHECK (decision IN ('all', 'latest', 'none')),
  decided_by_kind TEXT,
  decided_by      TEXT,
  reason          TEXT NOT NULL DEFAULT '',
  CHECK ((decided_at IS NULL) = (decision IS NULL))
) STRICT;
CREATE UNIQUE INDEX wake_docket_open ON wake_docket(wake_id) WHERE decided_at IS NULL;
CREATE INDEX wake_docket_list ON wake_docket(opened_at, id) WHERE decided_at IS NULL;
CREATE INDEX wake_docket_decided ON wake_docket(decided_at) WHERE decided_at IS NOT NULL;
CREATE INDEX wake_docket_series ON wake_docket(series);

-- Delivered events: a repeated delivery_id is known again; a payload is kept while late watches may ask for it.
CREATE TABLE wake_event (
  position       INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace      TEXT NOT NULL,
  event_key      TEXT NOT NULL,
  delivery_id    TEXT,
  payload        TEXT,
  retained_until INTEGER,
  accepted       INTEGER NOT NULL CHECK (accepted >= 0),
  delivered_at   INTEGER NOT NULL,
  CHECK ((payload IS NULL) = (retained_until IS NULL))
) STRICT;
CREATE UNIQUE INDEX wake_event_delivery ON wake_event(workspace, delivery_id) WHERE delivery_id IS NOT NULL;
CREATE INDEX wake_event_retained ON wake_event(workspace, event_key, position) WHERE retained_until IS NOT NULL;
CREATE INDEX wake_event_age ON wake_event(delivered_at, position);

-- Effects that must not happen twice: the key is claimed before the effect runs. claim only grows.
CREATE TABLE wake_receipt (
  workspace   TEXT NOT NULL,
  session     TEXT NOT NULL,
  key         TEXT NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('running', 'done', 'free', 'unknown')),
  claim       INTEGER NOT NULL CHECK (claim > 0),
  holder      TEXT NOT NULL,
  lease_until INTEGER,
  result      TEXT,
  created_at  INTEGER NOT NULL,
  ended_at    INTEGER,
  PRIMARY KEY (workspace, session, key),
  CHECK ((state = 'running') = (lease_until IS NOT NULL)),
  CHECK ((state = 'running') = (ended_at IS NULL)),
  CHECK ((state = 'done') = (result IS NOT NULL))
) STRICT;
CREATE INDEX wake_receipt_held ON wake_receipt(holder) WHERE state = 'running';
CREATE INDEX wake_receipt_unknown ON wake_receipt(workspace, created_at) WHERE state = 'unknown';
CREATE INDEX wake_receipt_ended ON wake_receipt(ended_at) WHERE state IN ('done', 'free');
