-- What has not come to its usual end, by state: counting goes through it and takes the usual end as the rest.

CREATE INDEX work_order_unusual ON work_order(state) WHERE state <> 'ACCEPTED';
CREATE INDEX task_unusual ON task(state) WHERE state <> 'SUCCEEDED';
CREATE INDEX attempt_unusual ON attempt(state) WHERE state <> 'SETTLED';
CREATE INDEX approval_unusual ON approval(state) WHERE state <> 'CONSUMED';
