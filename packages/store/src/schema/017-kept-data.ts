/** How much agents keep beside what is said, as running totals, and waits of operators by their time. */
export const keptDataSchema = `
-- Whose thread it is, where it is an owner's own.
ALTER TABLE agent_states ADD COLUMN scope TEXT NOT NULL DEFAULT '';
UPDATE agent_states SET scope = (SELECT t.scope FROM threads t WHERE t.id = agent_states.thread_id)
  WHERE EXISTS (SELECT 1 FROM threads t WHERE t.id = agent_states.thread_id);

-- What agents keep: of an owner's own conversations, one record each, and of all conversations of an agent ('agent:<name>').
CREATE TABLE kept_data (
  owner TEXT PRIMARY KEY,
  records INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO kept_data (owner, records, bytes)
  SELECT scope, count(*), sum(octet_length(state)) FROM agent_states WHERE scope <> '' GROUP BY scope;
INSERT INTO kept_data (owner, records, bytes)
  SELECT owner, count(*), sum(octet_length(value)) FROM records WHERE substr(kind, 1, 13) = 'swarm-shared-' GROUP BY owner;

CREATE TRIGGER agent_states_kept AFTER INSERT ON agent_states WHEN NEW.scope <> '' BEGIN
  INSERT INTO kept_data (owner, records, bytes) VALUES (NEW.scope, 1, octet_length(NEW.state)) ON CONFLICT (owner)
    DO UPDATE SET records = kept_data.records + 1, bytes = kept_data.bytes + excluded.bytes;
END;
CREATE TRIGGER agent_states_changed AFTER UPDATE OF state ON agent_states WHEN NEW.scope <> '' BEGIN
  UPDATE kept_data SET bytes = bytes + octet_length(NEW.state) - octet_length(OLD.state) WHERE owner = NEW.scope;
END;
CREATE TRIGGER agent_states_gone AFTER DELETE ON agent_states WHEN OLD.scope <> '' BEGIN
  UPDATE kept_data SET records = records - 1, bytes = bytes - octet_length(OLD.state) WHERE owner = OLD.scope;
  DELETE FROM kept_data WHERE owner = OLD.scope AND records = 0;
END;
CREATE TRIGGER records_kept AFTER INSERT ON records WHEN substr(NEW.kind, 1, 13) = 'swarm-shared-' BEGIN
  INSERT INTO kept_data (owner, records, bytes) VALUES (NEW.owner, 1, octet_length(NEW.value)) ON CONFLICT (owner)
    DO UPDATE SET records = kept_data.records + 1, bytes = kept_data.bytes + excluded.bytes;
END;
CREATE TRIGGER records_changed AFTER UPDATE OF value ON records WHEN substr(NEW.kind, 1, 13) = 'swarm-shared-' BEGIN
  UPDATE kept_data SET bytes = bytes + octet_length(NEW.value) - octet_length(OLD.value) WHERE owner = NEW.owner;
END;
CREATE TRIGGER records_gone AFTER DELETE ON records WHEN substr(OLD.kind, 1, 13) = 'swarm-shared-' BEGIN
  UPDATE kept_data SET records = records - 1, bytes = bytes - octet_length(OLD.value) WHERE owner = OLD.owner;
  DELETE FROM kept_data WHERE owner = OLD.owner AND records = 0;
END;

-- Of what operators have not decided, what has been open for longest.
CREATE INDEX requirements_overdue ON requirements (expires_at) WHERE status = 'open' AND subject = 'operator';
`
