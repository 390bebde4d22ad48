-- Tasks wait through the alarm clock: a wake of the task's own id for each that waits already.
INSERT INTO wake (id, workspace, trigger, kind, intent, due_at, armed_at, depth, origin, created_by_kind, created_by,
                  created_at)
SELECT id, 'engine', 'at', 'task.wake_up', 'null', due_at, due_at, 0, 'caller', 'engine', 'engine', created_at
FROM task WHERE state = 'WAITING' ORDER BY due_at, id;
