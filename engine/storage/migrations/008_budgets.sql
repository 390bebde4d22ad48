-- What the page of budgets reads: the scopes right below one, newest first, and what draws on a scope now.

CREATE INDEX scope_children ON scope(parent_id, id);
CREATE INDEX exposure_drawing ON exposure(scope_id, attempt_id) WHERE state IN ('RESERVED', 'FROZEN');
