// Defines the table of gateway runs, and the tables of running totals with the triggers that update them.
export const totalSchema = `
-- For a killed gateway, has_ended stays 0, and seen_at is up to a minute too early.
CREATE TABLE gateway_runs (
  id INTEGER PRIMARY KEY,
  holder TEXT NOT NULL UNIQUE,
  began_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  has_ended INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Totals that many messages change have a row for each shard, so that gateways do not wait for each other. A reader adds the shards. SQLite has
-- only shard 0. On PostgreSQL, each writing connection has its own shard.

-- The totals of the whole store.
CREATE TABLE counters (name TEXT NOT NULL, shard INTEGER NOT NULL DEFAULT 0, value INTEGER NOT NULL, PRIMARY KEY (name, shard)) STRICT, WITHOUT ROWID;

-- The totals of each agent and channel. name: a relation, or 'listed' for responses that everybody may read.
CREATE TABLE agent_totals (
  agent TEXT NOT NULL,
  channel TEXT NOT NULL,
  name TEXT NOT NULL,
  shard INTEGER NOT NULL DEFAULT 0,
  value INTEGER NOT NULL,
  PRIMARY KEY (agent, channel, name, shard)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER relations_added AFTER INSERT ON relations BEGIN
  INSERT INTO agent_totals (agent, channel, name, value) VALUES (NEW.agent, NEW.channel, NEW.relation, 1)
    ON CONFLICT (agent, channel, name, shard) DO UPDATE SET value = agent_totals.value + excluded.value;
END;
CREATE TRIGGER relations_removed AFTER DELETE ON relations BEGIN
  INSERT INTO agent_totals (agent, channel, name, value) VALUES (OLD.agent, OLD.channel, OLD.relation, -1)
    ON CONFLICT (agent, channel, name, shard) DO UPDATE SET value = agent_totals.value + excluded.value;
END;
CREATE TRIGGER responses_listed_added AFTER INSERT ON messages WHEN NEW.is_listed = 1 BEGIN
  INSERT INTO agent_totals (agent, channel, name, value) VALUES (NEW.agent, NEW.channel, 'listed', 1)
    ON CONFLICT (agent, channel, name, shard) DO UPDATE SET value = agent_totals.value + excluded.value;
END;
-- A retracted response is no longer listed.
CREATE TRIGGER responses_unlisted AFTER UPDATE OF is_listed ON messages WHEN OLD.is_listed = 1 AND NEW.is_listed = 0 BEGIN
  INSERT INTO agent_totals (agent, channel, name, value) VALUES (NEW.agent, NEW.channel, 'listed', -1)
    ON CONFLICT (agent, channel, name, shard) DO UPDATE SET value = agent_totals.value + excluded.value;
END;

-- The stored data of agents: for each owner, one record for each conversation of the owner, and shared records of an agent ('agent:<name>').
CREATE TABLE kept_data (
  owner TEXT NOT NULL,
  shard INTEGER NOT NULL DEFAULT 0,
  records INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (owner, shard)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER agent_states_kept AFTER INSERT ON agent_states WHEN NEW.scope <> '' BEGIN
  INSERT INTO kept_data (owner, records, bytes) VALUES (NEW.scope, 1, octet_length(NEW.state)) ON CONFLICT (owner, shard)
    DO UPDATE SET records = kept_data.records + excluded.records, bytes = kept_data.bytes + excluded.bytes;
END;
CREATE TRIGGER agent_states_changed AFTER UPDATE OF state ON agent_states WHEN NEW.scope <> '' BEGIN
  INSERT INTO kept_data (owner, records, bytes) VALUES (NEW.scope, 0, octet_length(NEW.state) - octet_length(OLD.state)) ON CONFLICT (owner, shard)
    DO UPDATE SET records = kept_data.records + excluded.records, bytes = kept_data.bytes + excluded.bytes;
END;
CREATE TRIGGER agent_states_gone AFTER DELETE ON agent_states WHEN OLD.scope <> '' BEGIN
  INSERT INTO kept_data (owner, records, bytes) VALUES (OLD.scope, -1, -octet_length(OLD.state)) ON CONFLICT (owner, shard)
    DO UPDATE SET records = kept_data.records + excluded.records, bytes = kept_data.bytes + excluded.bytes;
  DELETE FROM kept_data WHERE owner = OLD.scope AND shard = 0 AND records = 0 AND bytes = 0;
END;
CREATE TRIGGER records_kept AFTER INSERT ON records WHEN substr(NEW.kind, 1, 13) = 'swarm-shared-' BEGIN
  INSERT INTO kept_data (owner, records, bytes) VALUES (NEW.owner, 1, octet_length(NEW.value)) ON CONFLICT (owner, shard)
    DO UPDATE SET records = kept_data.records + excluded.records, bytes = kept_data.bytes + excluded.bytes;
END;
CREATE TRIGGER records_changed AFTER UPDATE OF value ON records WHEN substr(NEW.kind, 1, 13) = 'swarm-shared-' BEGIN
  INSERT INTO kept_data (owner, records, bytes) VALUES (NEW.owner, 0, octet_length(NEW.value) - octet_length(OLD.value)) ON CONFLICT (owner, shard)
    DO UPDATE SET records = kept_data.records + excluded.records, bytes = kept_data.bytes + excluded.bytes;
END;
CREATE TRIGGER records_gone AFTER DELETE ON records WHEN substr(OLD.kind, 1, 13) = 'swarm-shared-' BEGIN
  INSERT INTO kept_data (owner, records, bytes) VALUES (OLD.owner, -1, -octet_length(OLD.value)) ON CONFLICT (owner, shard)
    DO UPDATE SET records = kept_data.records + excluded.records, bytes = kept_data.bytes + excluded.bytes;
  DELETE FROM kept_data WHERE owner = OLD.owner AND shard = 0 AND records = 0 AND bytes = 0;
END;
`
