-- Retention (E-84): what stands for journal rows and budget use whose own rows are gone, and what waits to go.

-- The rows first to last of the journal were removed. previous is the hash before them, hash that of the last;
-- the journal row statement says the same, so that the chain holds the checkpoint too.
CREATE TABLE journal_checkpoint (
  first     INTEGER PRIMARY KEY CHECK (first > 0),
  last      INTEGER NOT NULL UNIQUE CHECK (last >= first),
  previous  TEXT NOT NULL CHECK (length(previous) = 64),
  hash      TEXT NOT NULL CHECK (length(hash) = 64),
  key       TEXT NOT NULL,
  signature TEXT NOT NULL CHECK (length(signature) = 64),
  statement INTEGER NOT NULL
) STRICT;
CREATE INDEX journal_checkpoint_statement ON journal_checkpoint(statement);

-- What removed attempts have spent in a scope that stays: its counter is the sum of its SPENT exposures and this.
CREATE TABLE retired_exposure (
  scope_id  TEXT NOT NULL REFERENCES scope(id),
  partition TEXT NOT NULL CHECK (partition IN ('EXECUTION', 'HANDOFF')),
  attempts  INTEGER NOT NULL CHECK (attempts > 0),
  cost      INTEGER NOT NULL CHECK (cost >= 0),
  active_ms INTEGER NOT NULL CHECK (active_ms >= 0),
  PRIMARY KEY (scope_id, partition)
) STRICT;

-- Kept files that nothing refers to, since when that is known: they go only after a grace time.
CREATE TABLE loose_file (
  name  TEXT PRIMARY KEY,
  since INTEGER NOT NULL
) STRICT;

-- What ended, by its age; and the references that a removal must look along, so that it costs the same at any size.
CREATE INDEX work_order_ended ON work_order(ended_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX decision_replanned ON decision(work_order_id) WHERE kind = 'replanned';
CREATE INDEX task_scope ON task(scope_id);
CREATE INDEX task_approval ON task(approval_id) WHERE approval_id IS NOT NULL;
CREATE INDEX task_source_task ON task(source_task_id) WHERE source_task_id IS NOT NULL;
CREATE INDEX task_source_attempt ON task(source_attempt_id) WHERE source_attempt_id IS NOT NULL;
CREATE INDEX task_source_validation ON task(source_validation_id) WHERE source_validation_id IS NOT NULL;
CREATE INDEX claim_task ON claim(task_id);
CREATE INDEX approval_work_order ON approval(work_order_id);
CREATE INDEX approval_covered_by ON approval(covered_by) WHERE covered_by IS NOT NULL;
CREATE INDEX approval_previous ON approval(previous_id) WHERE previous_id IS NOT NULL;
CREATE INDEX attempt_scope ON attempt(scope_id);
CREATE INDEX validation_task ON validation(task_id);
CREATE INDEX validation_evidence ON validation(evidence_id) WHERE evidence_id IS NOT NULL;
CREATE INDEX validation_validating ON validation(validating_attempt_id) WHERE validating_attempt_id IS NOT NULL;
CREATE INDEX handoff_from_task ON handoff(from_task_id);
CREATE INDEX handoff_evidence ON handoff(evidence_id) WHERE evidence_id IS NOT NULL;
