-- The storage's own tables: epochs, the journal and its head, facts about this database.
-- Instants are INTEGER epoch milliseconds (UTC) within the years 0001 to 9999.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

-- One row for each takeover of the database by a coordinator; the newest is the one in force (E-20).
CREATE TABLE epoch (
  epoch         INTEGER PRIMARY KEY CHECK (epoch > 0),
  taken_at      INTEGER NOT NULL CHECK (taken_at BETWEEN -62135596800000 AND 253402300799999),
  owner_program TEXT NOT NULL,
  owner_pid     INTEGER NOT NULL,
  owner_host    TEXT NOT NULL
) STRICT;

-- Append-only; every row is chained over the previous one by its hash (E-16).
CREATE TABLE journal (
  sequence      INTEGER PRIMARY KEY CHECK (sequence > 0),
  at            INTEGER NOT NULL CHECK (at BETWEEN -62135596800000 AND 253402300799999),
  epoch         INTEGER NOT NULL CHECK (epoch >= 0),
  actor_kind    TEXT NOT NULL,
  actor_name    TEXT NOT NULL,
  subject_kind  TEXT NOT NULL,
  subject_id    TEXT NOT NULL,
  work_order_id TEXT,
  kind          TEXT NOT NULL,
  detail        TEXT NOT NULL,
  hash          TEXT NOT NULL CHECK (length(hash) = 64)
) STRICT;
CREATE INDEX journal_subject ON journal(subject_kind, subject_id, sequence);
CREATE INDEX journal_work_order ON journal(work_order_id, sequence) WHERE work_order_id IS NOT NULL;

-- The last sequence and hash ever written: a journal whose end was cut off no longer meets it, and a
-- sequence never comes back even if retention has deleted the newest rows.
CREATE TABLE journal_head (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  sequence INTEGER NOT NULL CHECK (sequence >= 0),
  hash     TEXT NOT NULL CHECK (length(hash) = 64)
) STRICT;
INSERT INTO journal_head (id, sequence, hash)
VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');
