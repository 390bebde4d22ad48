-- The timeline's reads (console.md §4): what begins in a window by its start, and apart from that the few that go on
-- or took longer than an hour, so that a window costs what it shows however long the history is.

CREATE INDEX approval_asked ON approval(asked_at);
CREATE INDEX approval_long ON approval(asked_at)
  WHERE (coalesce(decided_at, ended_at) IS NULL OR coalesce(decided_at, ended_at) - asked_at > 3600000);
CREATE INDEX claim_claimed ON claim(claimed_at);
CREATE INDEX claim_long ON claim(claimed_at)
  WHERE (claim.ended_at IS NULL OR claim.ended_at - claimed_at > 3600000);
CREATE INDEX attempt_long ON attempt(authorized_at)
  WHERE (attempt.ended_at IS NULL OR attempt.ended_at - authorized_at > 3600000);
CREATE INDEX validation_recorded ON validation(recorded_at);
CREATE INDEX hold_placed ON hold(placed_at);
CREATE INDEX hold_long ON hold(placed_at)
  WHERE (released_at IS NULL OR released_at - placed_at > 3600000);
