-- How much an agent or a script has asked for: what of it is open, and what came lately.

CREATE INDEX work_order_open_of ON work_order(requested_by_kind, requested_by) WHERE ended_at IS NULL;
CREATE INDEX work_order_asked_by ON work_order(requested_by_kind, requested_by, created_at);
