-- Lists of wakes over all workspaces: what is still to come, by due time. (Ended ones are listed by wake_ended.)
CREATE INDEX wake_open ON wake(coalesce(due_at, 253402300799999), seq)
  WHERE state IN ('pending', 'firing', 'dead');
