-- The work itself: budgets, work orders, tasks, claims, approvals, the dispatch ledger, evidence, holds.
-- Instants are INTEGER epoch milliseconds; durations are INTEGER milliseconds; costs are whole budget units.

CREATE TABLE counter (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT;

-- Budgets: a tree of scopes, each with limits and counters in two partitions (E-44, E-61).

CREATE TABLE scope (
  id         TEXT PRIMARY KEY,
  parent_id  TEXT REFERENCES scope(id),
  kind       TEXT NOT NULL CHECK (kind IN ('ROOT', 'PROJECT', 'WORK_ORDER')),
  name       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  CHECK ((parent_id IS NULL) = (kind = 'ROOT'))
) STRICT;
CREATE UNIQUE INDEX scope_name ON scope(parent_id, name);
CREATE UNIQUE INDEX scope_root ON scope(kind) WHERE kind = 'ROOT';

-- Every scope with each of its ancestors, itself included: the path that a reservation climbs.
CREATE TABLE scope_path (
  scope_id    TEXT NOT NULL REFERENCES scope(id),
  ancestor_id TEXT NOT NULL REFERENCES scope(id),
  distance    INTEGER NOT NULL CHECK (distance >= 0),
  PRIMARY KEY (scope_id, ancestor_id)
) STRICT;
CREATE INDEX scope_path_below ON scope_path(ancestor_id);

CREATE TABLE scope_partition (
  scope_id        TEXT NOT NULL REFERENCES scope(id),
  partition       TEXT NOT NULL CHECK (partition IN ('EXECUTION', 'HANDOFF')),
  cost_limit      INTEGER NOT NULL CHECK (cost_limit >= 0),
  active_ms_limit INTEGER NOT NULL CHECK (active_ms_limit >= 0),
  reserved_cost   INTEGER NOT NULL DEFAULT 0 CHECK (reserved_cost >= 0),
  reserved_ms     INTEGER NOT NULL DEFAULT 0 CHECK (reserved_ms >= 0),
  frozen_cost     INTEGER NOT NULL DEFAULT 0 CHECK (frozen_cost >= 0),
  frozen_ms       INTEGER NOT NULL DEFAULT 0 CHECK (frozen_ms >= 0),
  spent_cost      INTEGER NOT NULL DEFAULT 0 CHECK (spent_cost >= 0),
  spent_ms        INTEGER NOT NULL DEFAULT 0 CHECK (spent_ms >= 0),
  PRIMARY KEY (scope_id, partition)
) STRICT;

-- Work orders and tasks.

CREATE TABLE work_order (
  id               TEXT PRIMARY KEY,
  number           INTEGER NOT NULL UNIQUE,
  title            TEXT NOT NULL,
  workspace        TEXT NOT NULL,
  lane             TEXT NOT NULL,
  project          TEXT NOT NULL,
  scope_id         TEXT NOT NULL UNIQUE REFERENCES scope(id),
  spec             TEXT NOT NULL,
  state            TEXT NOT NULL CHECK (state IN
    ('ACTIVE', 'AWAITING_ACCEPTANCE', 'DECISION_NEEDED', 'CANCELLING', 'ACCEPTED', 'REJECTED', 'CANCELLED')),
  state_reason     TEXT NOT NULL DEFAULT '',
  corrections_made INTEGER NOT NULL DEFAULT 0,
  corrections_allowed INTEGER NOT NULL CHECK (corrections_allowed >= 0),
  requested_by_kind TEXT NOT NULL,
  requested_by     TEXT NOT NULL,
  request_key      TEXT UNIQUE,
  created_at       INTEGER NOT NULL,
  changed_at       INTEGER NOT NULL,
  ended_at         INTEGER,
  CHECK ((ended_at IS NOT NULL) = (state IN ('ACCEPTED', 'REJECTED', 'CANCELLED')))
) STRICT;
CREATE INDEX work_order_changed ON work_order(changed_at, id);
CREATE INDEX work_order_open ON work_order(number) WHERE ended_at IS NULL;
CREATE INDEX work_order_cancelling ON work_order(number) WHERE state = 'CANCELLING';

-- armed_at: this READY task is the head of its idle lane and all its standing gates are open; only armed
-- tasks are looked at by a claim, so a claim costs the same at any backlog (E-17, E-69).
-- blocked_by: the standing gate that kept it from being armed when it was last looked at.
CREATE TABLE task (
  id                   TEXT PRIMARY KEY,
  work_order_id        TEXT NOT NULL REFERENCES work_order(id),
  ordinal              INTEGER NOT NULL CHECK (ordinal > 0),
  purpose              TEXT NOT NULL CHECK (purpose IN ('IMPLEMENT', 'VALIDATE', 'CORRECT', 'HANDOFF')),
  state                TEXT NOT NULL CHECK (state IN
    ('WAITING', 'READY', 'CLAIMED', 'DISPATCHED', 'SUCCEEDED', 'FAILED', 'UNKNOWN', 'CANCELLED')),
  lane                 TEXT NOT NULL,
  scope_id             TEXT NOT NULL REFERENCES scope(id),
  partition            TEXT NOT NULL CHECK (partition IN ('EXECUTION', 'HANDOFF')),
  command              TEXT NOT NULL,
  max_cost             INTEGER NOT NULL CHECK (max_cost >= 0),
  max_active_ms        INTEGER NOT NULL CHECK (max_active_ms > 0),
  due_at               INTEGER,
  ready_at             INTEGER,
  approval_id          TEXT REFERENCES approval(id),
  armed_at             INTEGER,
  blocked_by           TEXT CHECK (blocked_by IN ('HOLD', 'RESOURCES')),
  source_task_id       TEXT REFERENCES task(id),
  source_attempt_id    TEXT REFERENCES attempt(id),
  source_validation_id TEXT REFERENCES validation(id),
  created_at           INTEGER NOT NULL,
  changed_at           INTEGER NOT NULL,
  UNIQUE (work_order_id, ordinal),
  CHECK ((state = 'WAITING') <= (due_at IS NOT NULL)),
  CHECK (armed_at IS NULL OR (state = 'READY' AND approval_id IS NOT NULL AND blocked_by IS NULL))
) STRICT;
CREATE INDEX task_waiting ON task(due_at, id) WHERE state = 'WAITING';
CREATE INDEX task_armed ON task(armed_at, id) WHERE armed_at IS NOT NULL;
-- One armed, claimed or dispatched task per lane: a constraint, not a hope.
CREATE UNIQUE INDEX task_lane_head ON task(lane) WHERE armed_at IS NOT NULL OR state IN ('CLAIMED', 'DISPATCHED');
CREATE INDEX task_lane_next ON task(lane, ready_at, id)
  WHERE state = 'READY' AND approval_id IS NOT NULL AND armed_at IS NULL AND blocked_by IS NULL;
CREATE INDEX task_blocked ON task(blocked_by, scope_id) WHERE blocked_by IS NOT NULL;
CREATE INDEX task_unasked ON task(ready_at, id) WHERE state = 'READY' AND approval_id IS NULL;
CREATE INDEX task_scope_armed ON task(scope_id) WHERE armed_at IS NOT NULL;

-- A lane stays locked while something of an attempt may still write into the workspace (E-54).
CREATE TABLE lane_lock (
  lane       TEXT PRIMARY KEY,
  attempt_id TEXT NOT NULL REFERENCES attempt(id),
  survivors  TEXT NOT NULL,
  locked_at  INTEGER NOT NULL
) STRICT;

-- Workers and claims.

CREATE TABLE worker (
  id            TEXT PRIMARY KEY,
  kind          TEXT NOT NULL,
  slots         INTEGER NOT NULL CHECK (slots > 0),
  epoch         INTEGER NOT NULL,
  registered_at INTEGER NOT NULL
) STRICT;

CREATE TABLE claim (
  id          TEXT PRIMARY KEY,
  task_id     TEXT NOT NULL REFERENCES task(id),
  worker_id   TEXT NOT NULL REFERENCES worker(id),
  epoch       INTEGER NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('LIVE', 'CONSUMED', 'RELEASED', 'EXPIRED')),
  claimed_at  INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  renewals    INTEGER NOT NULL DEFAULT 0,
  ended_at    INTEGER,
  CHECK (lease_until > claimed_at),
  CHECK ((ended_at IS NULL) = (state = 'LIVE'))
) STRICT;
CREATE UNIQUE INDEX claim_live ON claim(task_id) WHERE state = 'LIVE';
CREATE INDEX claim_lease ON claim(lease_until, id) WHERE state = 'LIVE';
CREATE INDEX claim_live_worker ON claim(worker_id) WHERE state = 'LIVE';
CREATE INDEX claim_live_epoch ON claim(epoch) WHERE state = 'LIVE';

-- Approvals: a person's decision about one exact plan (E-40 to E-42b).

CREATE TABLE approval (
  id                TEXT PRIMARY KEY,
  task_id           TEXT NOT NULL REFERENCES task(id),
  work_order_id     TEXT NOT NULL REFERENCES work_order(id),
  ordinal           INTEGER NOT NULL CHECK (ordinal > 0),
  state             TEXT NOT NULL CHECK (state IN
    ('PENDING', 'APPROVED', 'REJECTED', 'WITHDRAWN', 'EXPIRED', 'CHANGED', 'CONSUMED')),
  plan              TEXT NOT NULL,
  seal              TEXT NOT NULL,
  validation_plan   TEXT,
  validation_seal   TEXT,
  covers_validation INTEGER NOT NULL DEFAULT 0 CHECK (covers_validation IN (0, 1)),
  covered_by        TEXT REFERENCES approval(id),
  previous_id       TEXT REFERENCES approval(id),
  differences       TEXT NOT NULL DEFAULT '[]',
  asked_by_kind     TEXT NOT NULL,
  asked_by          TEXT NOT NULL,
  asked_at          INTEGER NOT NULL,
  expires_at        INTEGER NOT NULL,
  decided_by        TEXT,
  decided_at        INTEGER,
  decision_reason   TEXT NOT NULL DEFAULT '',
  look_ms           INTEGER,
  ended_at          INTEGER,
  UNIQUE (task_id, ordinal),
  CHECK (expires_at > asked_at),
  CHECK ((validation_plan IS NULL) = (validation_seal IS NULL)),
  CHECK (covers_validation = 0 OR validation_seal IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX approval_open ON approval(task_id) WHERE state IN ('PENDING', 'APPROVED');
CREATE INDEX approval_pending ON approval(asked_at, id) WHERE state = 'PENDING';
CREATE INDEX approval_expiry ON approval(expires_at, id) WHERE state IN ('PENDING', 'APPROVED');
CREATE INDEX approval_seal ON approval(seal) WHERE state = 'PENDING';
CREATE INDEX approval_decided ON approval(decided_at) WHERE decided_at IS NOT NULL;

-- The dispatch ledger (E-43, E-50, E-51).

CREATE TABLE attempt (
  id               TEXT PRIMARY KEY,
  task_id          TEXT NOT NULL REFERENCES task(id),
  work_order_id    TEXT NOT NULL REFERENCES work_order(id),
  ordinal          INTEGER NOT NULL CHECK (ordinal > 0),
  purpose          TEXT NOT NULL,
  claim_id         TEXT NOT NULL UNIQUE REFERENCES claim(id),
  approval_id      TEXT NOT NULL UNIQUE REFERENCES approval(id),
  seal             TEXT NOT NULL,
  worker_id        TEXT NOT NULL REFERENCES worker(id),
  epoch            INTEGER NOT NULL,
  scope_id         TEXT NOT NULL REFERENCES scope(id),
  partition        TEXT NOT NULL CHECK (partition IN ('EXECUTION', 'HANDOFF')),
  state            TEXT NOT NULL CHECK (state IN ('DISPATCH_AUTHORIZED', 'DELIVERED', 'ACKNOWLEDGED', 'RUNNING',
    'EXECUTED', 'SETTLED', 'UNKNOWN', 'VOIDED')),
  max_cost         INTEGER NOT NULL CHECK (max_cost >= 0),
  max_active_ms    INTEGER NOT NULL CHECK (max_active_ms > 0),
  outcome          TEXT CHECK (outcome IN ('SUCCEEDED', 'FAILED', 'UNKNOWN')),
  reason_code      TEXT NOT NULL DEFAULT '',
  reason           TEXT NOT NULL DEFAULT '',
  stop_requested_at INTEGER,
  actual_cost      INTEGER CHECK (actual_cost >= 0),
  actual_active_ms INTEGER CHECK (actual_active_ms >= 0),
  cost_source      TEXT CHECK (cost_source IN ('reported', 'assumed_maximum', 'person', 'never_started')),
  overrun          INTEGER NOT NULL DEFAULT 0 CHECK (overrun IN (0, 1)),
  authorized_at    INTEGER NOT NULL,
  ended_at         INTEGER,
  settled_at       INTEGER,
  UNIQUE (task_id, ordinal),
  CHECK ((state = 'SETTLED') <= (settled_at IS NOT NULL)),
  CHECK ((state = 'SETTLED') <= (actual_cost IS NOT NULL AND actual_active_ms IS NOT NULL))
) STRICT;
CREATE INDEX attempt_in_flight ON attempt(epoch, id)
  WHERE state IN ('DISPATCH_AUTHORIZED', 'DELIVERED', 'ACKNOWLEDGED', 'RUNNING');
CREATE INDEX attempt_work_order ON attempt(work_order_id, authorized_at);
CREATE INDEX attempt_executed ON attempt(work_order_id) WHERE state = 'EXECUTED';
CREATE INDEX attempt_unknown ON attempt(work_order_id) WHERE state = 'UNKNOWN';
CREATE INDEX attempt_recent ON attempt(authorized_at, id);

CREATE TABLE exposure (
  attempt_id TEXT NOT NULL REFERENCES attempt(id),
  scope_id   TEXT NOT NULL REFERENCES scope(id),
  partition  TEXT NOT NULL CHECK (partition IN ('EXECUTION', 'HANDOFF')),
  state      TEXT NOT NULL CHECK (state IN ('RESERVED', 'FROZEN', 'SPENT', 'RELEASED')),
  cost       INTEGER NOT NULL CHECK (cost >= 0),
  active_ms  INTEGER NOT NULL CHECK (active_ms >= 0),
  PRIMARY KEY (attempt_id, scope_id)
) STRICT;
CREATE INDEX exposure_scope ON exposure(scope_id, partition);

CREATE TABLE intent (
  id         TEXT PRIMARY KEY,
  attempt_id TEXT NOT NULL UNIQUE REFERENCES attempt(id),
  worker_id  TEXT NOT NULL REFERENCES worker(id),
  epoch      INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE delivery (
  id              TEXT PRIMARY KEY,
  intent_id       TEXT NOT NULL UNIQUE REFERENCES intent(id),
  attempt_id      TEXT NOT NULL UNIQUE REFERENCES attempt(id),
  worker_id       TEXT NOT NULL REFERENCES worker(id),
  epoch           INTEGER NOT NULL,
  delivered_at    INTEGER NOT NULL,
  acknowledged_at INTEGER,
  started_at      INTEGER,
  process_pid     INTEGER,
  process_started TEXT,
  process_boot    TEXT,
  finished_at     INTEGER
) STRICT;

-- Evidence and validation (E-55, E-60).

CREATE TABLE evidence (
  id          TEXT PRIMARY KEY,
  attempt_id  TEXT NOT NULL UNIQUE REFERENCES attempt(id),
  body        TEXT NOT NULL,
  sha256      TEXT NOT NULL,
  recorded_at INTEGER NOT NULL
) STRICT;

CREATE TABLE evidence_blob (
  evidence_id TEXT NOT NULL REFERENCES evidence(id),
  role        TEXT NOT NULL CHECK (role IN ('stdout', 'stderr', 'artifact', 'result', 'manifest')),
  path        TEXT NOT NULL,
  sha256      TEXT NOT NULL,
  size        INTEGER NOT NULL CHECK (size >= 0),
  PRIMARY KEY (evidence_id, role, path)
) STRICT;
CREATE INDEX evidence_blob_digest ON evidence_blob(sha256);

CREATE TABLE validation (
  id                   TEXT PRIMARY KEY,
  attempt_id           TEXT NOT NULL UNIQUE REFERENCES attempt(id),
  task_id              TEXT NOT NULL REFERENCES task(id),
  work_order_id        TEXT NOT NULL REFERENCES work_order(id),
  outcome              TEXT NOT NULL CHECK (outcome IN ('PASSED', 'FAILED', 'UNKNOWN')),
  judged_by            TEXT NOT NULL CHECK (judged_by IN ('command', 'execution', 'person')),
  criteria             TEXT NOT NULL,
  evidence_id          TEXT REFERENCES evidence(id),
  validating_attempt_id TEXT REFERENCES attempt(id),
  actual_cost          INTEGER,
  actual_active_ms     INTEGER,
  correction_exhausted INTEGER NOT NULL DEFAULT 0 CHECK (correction_exhausted IN (0, 1)),
  reason               TEXT NOT NULL DEFAULT '',
  actor_kind           TEXT NOT NULL,
  actor                TEXT NOT NULL,
  recorded_at          INTEGER NOT NULL,
  -- Only a person may judge what left no evidence: an attempt that a person said took effect (E-72).
  CHECK (evidence_id IS NOT NULL OR judged_by = 'person')
) STRICT;
CREATE INDEX validation_work_order ON validation(work_order_id, recorded_at);

-- Decisions and holds (E-70 to E-72).

CREATE TABLE decision (
  id            TEXT PRIMARY KEY,
  work_order_id TEXT NOT NULL REFERENCES work_order(id),
  attempt_id    TEXT REFERENCES attempt(id),
  kind          TEXT NOT NULL,
  actor_kind    TEXT NOT NULL,
  actor         TEXT NOT NULL,
  reason        TEXT NOT NULL,
  detail        TEXT NOT NULL DEFAULT '{}',
  decided_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX decision_work_order ON decision(work_order_id, decided_at);

CREATE TABLE hold (
  id             TEXT PRIMARY KEY,
  node_kind      TEXT NOT NULL CHECK (node_kind IN ('ENGINE', 'SCOPE', 'WORK_ORDER', 'TASK')),
  node_id        TEXT NOT NULL,
  kind           TEXT NOT NULL CHECK (kind IN ('PAUSE', 'HOLD', 'CLOCK', 'RESTORE', 'OVERRUN')),
  reason         TEXT NOT NULL,
  actor_kind     TEXT NOT NULL,
  actor          TEXT NOT NULL,
  placed_at      INTEGER NOT NULL,
  released_at    INTEGER,
  released_by    TEXT,
  release_reason TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX hold_active ON hold(node_kind, node_id, kind) WHERE released_at IS NULL;

-- The answers to commands that carry an idempotency key, so that a repeat changes nothing (E-70).
CREATE TABLE command_key (
  key      TEXT PRIMARY KEY,
  command  TEXT NOT NULL,
  subject  TEXT NOT NULL,
  done_at  INTEGER NOT NULL
) STRICT;
