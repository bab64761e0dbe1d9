// Lists queries for rows that must not exist, such as wrong totals.
import { DatabaseSync } from 'node:sqlite'

interface SoundnessCheck {
  readonly name: string
  /** Selects rows that must not exist. */
  readonly sql: string
  /** True for a check that holds only once no work is left. */
  readonly atEnd?: true
}

const total = (kind: string, state: string, from: string) => `
  SELECT coalesce(c.name, n.name) AS name, coalesce(c.value, 0) AS booked, coalesce(n.value, 0) AS counted
  FROM (SELECT name, sum(value) AS value FROM counters WHERE name LIKE '${kind}.%' GROUP BY name) c
  FULL JOIN (SELECT '${kind}.' || ${state} AS name, count(*) AS value FROM ${from} GROUP BY 1) n ON n.name = c.name
  WHERE coalesce(c.value, 0) <> coalesce(n.value, 0)`

/** Sums the columns of an owner over all shards. */
const summed = (table: string, columns: readonly string[]) =>
  `SELECT owner, ${columns.map(column => `sum(${column}) AS ${column}`).join(', ')} FROM ${table} GROUP BY owner`

const missing = (table: string, column: string, other: string, key: string, where = 'true') => ({
  name: `${table}.${column} names a row of ${other}`,
  sql: `SELECT * FROM ${table} x WHERE ${column} IS NOT NULL AND ${where}
    AND NOT EXISTS (SELECT 1 FROM ${other} y WHERE y.${key} = x.${column})`,
})

const [aMessage, aResponse] = ['message', 'response'].map(
  kind => `(SELECT seq FROM messages WHERE kind = '${kind}')`,
) as [string, string]

export const checks: readonly SoundnessCheck[] = [
  {
    name: 'totals of messages',
    sql: total(
      'messages',
      "coalesce(w.state, 'ignored')",
      "messages m LEFT JOIN turns w ON w.message = m.seq WHERE m.kind = 'message'",
    ),
  },
  { name: 'totals of deliveries', sql: total('deliveries', 'state', 'deliveries WHERE message <> 0') },
  {
    name: 'in each thread, the first open turn is due, and no other',
    sql: `SELECT t.* FROM turns t WHERE ended_at IS NULL AND (due_at IS NOT NULL) <> (message =
      (SELECT min(message) FROM turns o WHERE o.thread_id = t.thread_id AND o.ended_at IS NULL AND o.merged_into IS NULL))`,
  },
  {
    name: 'a merged turn goes with an open turn of its thread',
    sql: `SELECT t.* FROM turns t LEFT JOIN turns l ON l.message = t.merged_into WHERE t.ended_at IS NULL AND t.merged_into IS NOT NULL
      AND (l.message IS NULL OR l.ended_at IS NOT NULL OR l.thread_id <> t.thread_id)`,
  },
  {
    name: 'an open unmerged turn has a lease exactly while it is in the state working',
    sql: `SELECT t.* FROM turns t WHERE (lease_owner IS NOT NULL) <> (state = 'working' AND merged_into IS NULL AND ended_at IS NULL)`,
  },
  {
    name: 'in each thread, one open delivery to each destination is due',
    sql: `SELECT thread_id, destination, count(due_at) FROM deliveries WHERE ended_at IS NULL GROUP BY 1, 2 HAVING count(due_at) <> 1`,
  },
  {
    name: 'ended deliveries are neither due nor leased',
    sql: `SELECT * FROM deliveries WHERE ended_at IS NOT NULL AND (due_at IS NOT NULL OR lease_owner IS NOT NULL)`,
  },
  {
    name: 'each kind of row has its own columns',
    sql: `SELECT seq, kind FROM messages WHERE CASE kind
      WHEN 'message' THEN agent IS NULL OR channel IS NULL OR native_id IS NULL OR duplicate_key IS NULL OR correlation_id IS NULL
        OR envelope IS NULL OR proofs IS NULL OR target IS NULL OR raw_form IS NULL OR is_listed = 1
      WHEN 'response' THEN agent IS NULL OR channel IS NULL OR native_id IS NULL OR answers IS NULL OR envelope IS NULL OR raw IS NOT NULL
      WHEN 'note' THEN (scope <> 'trace') OR answers IS NULL OR envelope IS NOT NULL
      WHEN 'context' THEN scope NOT IN ('conversation', 'forgotten') OR answers IS NULL OR envelope IS NOT NULL
      WHEN 'removed' THEN seq <> (SELECT max(seq) FROM messages) AND native_id IS NOT NULL OR envelope IS NOT NULL OR content <> '[]'
      ELSE true END`,
  },
  missing('messages', 'thread_id', 'threads', 'id', "(kind IN ('message', 'response') OR scope <> 'forgotten')"),
  missing('messages', 'task_id', 'tasks', 'id', "(kind IN ('message', 'response') OR scope <> 'forgotten')"),
  missing('messages', 'answers', aMessage, 'seq', "kind = 'response'"),
  missing('fetched_context', 'seq', 'messages', 'seq'),
  missing('turns', 'message', aMessage, 'seq'),
  missing('turns', 'thread_id', 'threads', 'id'),
  missing('turns', 'task_id', 'tasks', 'id'),
  missing('turns', 'merged_into', aMessage, 'seq'),
  missing('deliveries', 'message', aMessage, 'seq', 'message <> 0'),
  missing('deliveries', 'response_seq', aResponse, 'seq', 'message <> 0'),
  missing('deliveries', 'thread_id', 'threads', 'id', 'message <> 0'),
  missing('deliveries', 'broadcast', 'broadcasts', 'id', 'message <> 0'),
  missing('broadcasts', 'message', aMessage, 'seq', 'message <> 0'),
  missing('broadcasts', 'response_seq', aResponse, 'seq'),
  missing('thread_aliases', 'thread_id', 'threads', 'id'),
  missing('thread_aliases', 'message', aMessage, 'seq'),
  missing('duplicates', 'message', aMessage, 'seq'),
  missing('blob_uses', 'message', aMessage, 'seq'),
  missing('blob_uses', 'digest', 'blobs', 'digest', 'part_encoding IS NULL'),
  missing('blobs', 'digest', '(SELECT digest FROM blob_uses WHERE part_encoding IS NULL)', 'digest'),
  {
    name: 'parts of raw bytes lie within them',
    sql: `SELECT u.* FROM blob_uses u JOIN messages m ON m.seq = u.message LEFT JOIN blobs b ON b.digest = m.raw_digest
      WHERE u.part_encoding IS NOT NULL AND (u.bytes <> 0 OR u.part_end <= u.part_start OR m.raw IS NULL AND b.digest IS NULL
        OR u.part_end > CASE WHEN b.is_file = 1 THEN u.part_end ELSE coalesce(octet_length(m.raw), octet_length(b.bytes)) END)`,
  },
  {
    name: 'bytes of senders',
    sql: `WITH sizes AS (
        SELECT stored_by AS owner, octet_length(content) + coalesce(octet_length(raw), 0) + coalesce(octet_length(envelope), 0)
          + coalesce(octet_length(arrival), 0) AS bytes FROM messages WHERE stored_by IS NOT NULL
        UNION ALL SELECT stored_by, bytes FROM blob_uses WHERE stored_by IS NOT NULL),
      counted AS (SELECT owner, sum(bytes) AS bytes FROM (
        SELECT owner, bytes FROM sizes UNION ALL SELECT 'unproven', bytes FROM sizes WHERE owner LIKE 'u:%') GROUP BY owner)
      SELECT coalesce(s.owner, c.owner) AS owner, s.bytes AS booked, c.bytes AS counted
      FROM (SELECT owner, sum(bytes) AS bytes FROM stored_bytes GROUP BY owner) s FULL JOIN counted c ON c.owner = s.owner
      WHERE coalesce(s.bytes, 0) <> coalesce(c.bytes, 0)`,
  },
  missing('agent_states', 'thread_id', 'threads', 'id'),
  missing('turn_quotas', 'thread_id', 'threads', 'id'),
  missing('fetched_context', 'thread_id', 'threads', 'id'),
  missing('requirements', 'message', aMessage, 'seq'),
  missing('requirements', 'thread_id', 'threads', 'id'),
  missing('push_subscriptions', 'task_id', 'tasks', 'id'),
  missing('transcript_bindings', 'store_thread', 'threads', 'id'),
  missing('transcript_bindings', 'thread', 'transcript_threads', 'id'),
  missing('transcript_entries', 'thread', 'transcript_threads', 'id'),
  missing('transcript_entry_names', 'thread', 'transcript_threads', 'id'),
  {
    name: 'threads have their key',
    sql: `SELECT * FROM threads t WHERE scope <> 'forgotten' AND NOT EXISTS (SELECT 1 FROM thread_aliases n WHERE n.thread_id = t.id AND n.is_key = 1 AND n.name = t.key)`,
  },
  {
    name: 'bytes that a message refers to exist',
    sql: `SELECT e.seq, p.value FROM messages e, json_each(e.content) p WHERE e.scope <> 'trace' AND json_extract(p.value, '$.bytes_ref.digest') IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.digest = json_extract(p.value, '$.bytes_ref.digest'))
      AND NOT EXISTS (SELECT 1 FROM blob_uses u WHERE u.digest = json_extract(p.value, '$.bytes_ref.digest') AND u.part_encoding IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.seq = coalesce(e.answers, e.seq) AND m.forgotten_at IS NOT NULL)`,
  },
  {
    name: 'notes are of messages that are there, with answers that are there',
    sql: `SELECT e.seq FROM messages e WHERE e.scope = 'trace' AND (e.task_id IS NOT NULL
      OR NOT EXISTS (SELECT 1 FROM messages m WHERE m.seq = e.answers AND m.kind = 'message' AND m.thread_id = e.thread_id AND m.forgotten_at IS NULL)
      OR EXISTS (SELECT 1 FROM messages r WHERE r.kind = 'response' AND r.answers = e.answers AND r.retracted_at IS NOT NULL)
      OR EXISTS (SELECT 1 FROM messages o WHERE o.scope = 'trace' AND o.seq <> e.seq AND o.answers = e.answers AND o.native_id = e.native_id))`,
  },
  {
    name: 'bytes of tasks',
    sql: `WITH counted AS (SELECT owner, sum(bytes) AS bytes FROM (
        SELECT k.owner, octet_length(e.content) AS bytes FROM messages e JOIN tasks k ON k.id = e.task_id
        UNION ALL SELECT k.owner, octet_length(e.content) FROM messages e JOIN messages m ON m.seq = e.answers
          JOIN tasks k ON k.id = m.task_id WHERE e.scope = 'trace'
        UNION ALL SELECT k.owner, coalesce(octet_length(m.raw), 0) FROM messages m JOIN tasks k ON k.id = m.task_id
        UNION ALL SELECT k.owner, u.bytes FROM blob_uses u JOIN messages m ON m.seq = u.message JOIN tasks k ON k.id = m.task_id)
        GROUP BY owner)
      SELECT coalesce(b.owner, c.owner) AS owner, b.bytes AS booked, c.bytes AS counted FROM (${summed('task_bytes', ['bytes', 'tasks'])}) b FULL JOIN counted c ON c.owner = b.owner
      WHERE coalesce(b.bytes, 0) <> coalesce(c.bytes, 0)`,
  },
  {
    name: 'what agents keep',
    sql: `WITH counted AS (SELECT owner, count(*) AS records, sum(bytes) AS bytes FROM (
        SELECT scope AS owner, octet_length(state) AS bytes FROM agent_states WHERE scope <> ''
        UNION ALL SELECT owner, octet_length(value) FROM records WHERE kind LIKE 'swarm-shared-%') GROUP BY owner)
      SELECT coalesce(k.owner, c.owner) AS owner, k.records, c.records FROM (${summed('kept_data', ['records', 'bytes'])}) k FULL JOIN counted c ON c.owner = k.owner
      WHERE coalesce(k.records, 0) <> coalesce(c.records, 0) OR coalesce(k.bytes, 0) <> coalesce(c.bytes, 0)`,
  },
  {
    name: 'what agents keep is of its thread',
    sql: `SELECT s.* FROM agent_states s LEFT JOIN threads t ON t.id = s.thread_id WHERE s.scope <> t.scope`,
  },
  {
    name: 'numbers of tasks',
    sql: `WITH counted AS (SELECT owner, count(*) AS tasks FROM tasks GROUP BY owner)
      SELECT coalesce(b.owner, c.owner) AS owner, b.tasks AS booked, c.tasks AS counted FROM (${summed('task_bytes', ['bytes', 'tasks'])}) b FULL JOIN counted c ON c.owner = b.owner
      WHERE coalesce(b.tasks, 0) <> coalesce(c.tasks, 0)`,
  },
  {
    name: 'extents of threads',
    sql: `WITH counted AS (SELECT t.id, count(e.body) AS entries, coalesce(sum(octet_length(e.body)), 0) AS bytes
        FROM transcript_threads t LEFT JOIN transcript_entries e ON e.thread = t.id GROUP BY t.id)
      SELECT t.id, t.entries, t.bytes, c.entries AS counted, c.bytes AS counted_bytes FROM transcript_threads t JOIN counted c ON c.id = t.id
      WHERE t.entries <> c.entries OR t.bytes <> c.bytes`,
  },
  {
    name: 'usage of owners',
    sql: `WITH counted AS (SELECT owner, count(*) AS threads, sum(entries) AS entries, sum(bytes) AS bytes FROM transcript_threads GROUP BY owner)
      SELECT coalesce(u.owner, c.owner) AS owner, u.*, c.* FROM (${summed('transcript_usage', ['threads', 'entries', 'bytes'])}) u FULL JOIN counted c ON c.owner = u.owner
      WHERE u.threads IS DISTINCT FROM c.threads OR u.entries IS DISTINCT FROM c.entries OR u.bytes IS DISTINCT FROM c.bytes`,
  },
  {
    name: 'listed responses',
    sql: `SELECT a.agent, a.channel, a.value, (SELECT count(*) FROM messages r WHERE r.agent = a.agent AND r.channel = a.channel AND r.is_listed = 1) AS counted
      FROM (SELECT agent, channel, name, sum(value) AS value FROM agent_totals GROUP BY 1, 2, 3) a
      WHERE a.name = 'listed' AND a.value <> (SELECT count(*) FROM messages r WHERE r.agent = a.agent AND r.channel = a.channel AND r.is_listed = 1)`,
  },
  {
    name: 'relations',
    sql: `SELECT a.*, (SELECT count(*) FROM relations r WHERE r.agent = a.agent AND r.channel = a.channel AND r.relation = a.name) AS counted
      FROM (SELECT agent, channel, name, sum(value) AS value FROM agent_totals GROUP BY 1, 2, 3) a
      WHERE a.name <> 'listed' AND a.value <> (SELECT count(*) FROM relations r WHERE r.agent = a.agent AND r.channel = a.channel AND r.relation = a.name)`,
  },
  {
    name: 'a task in progress has an open turn',
    sql: `SELECT * FROM tasks k WHERE state IN ('submitted', 'working') AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.task_id = k.id AND t.ended_at IS NULL)`,
  },
  {
    name: 'a task with an open turn is in progress',
    sql: `SELECT * FROM tasks k WHERE state NOT IN ('submitted', 'working') AND EXISTS (SELECT 1 FROM turns t WHERE t.task_id = k.id AND t.ended_at IS NULL)`,
  },
  missing('tasks', 'response_seq', aResponse, 'seq'),
  {
    name: 'linked addresses',
    sql: `SELECT * FROM person_addresses a WHERE NOT EXISTS (SELECT 1 FROM person_links l WHERE l.agent = a.agent AND (l.asker = a.address OR l.target = a.address))`,
  },
  {
    name: 'states of persons',
    sql: `SELECT * FROM person_states a WHERE NOT EXISTS (SELECT 1 FROM person_links l WHERE l.agent = a.agent AND (l.asker = a.person OR l.target = a.person))`,
  },
  {
    name: 'forgotten messages have no requirements',
    sql: `SELECT d.* FROM requirements d JOIN messages m ON m.seq = d.message WHERE m.forgotten_at IS NOT NULL`,
  },
  {
    name: 'retracted responses have no open requirements',
    sql: `SELECT d.* FROM requirements d JOIN messages r ON r.kind = 'response' AND r.answers = d.message WHERE r.retracted_at IS NOT NULL AND d.status = 'open'`,
  },
  { name: 'turns are over', sql: 'SELECT * FROM turns WHERE ended_at IS NULL', atEnd: true },
  { name: 'deliveries are over', sql: 'SELECT * FROM deliveries WHERE ended_at IS NULL', atEnd: true },
  { name: 'broadcasts are over', sql: 'SELECT * FROM broadcasts WHERE ended_at IS NULL', atEnd: true },
]

/** Lists the faults in the rows of a store. */
export function findInconsistencies(file: string, { isDone = false } = {}): readonly string[] {
  const db = new DatabaseSync(file, { readOnly: true })
  const violations = checks
    .filter(({ atEnd }) => isDone || !atEnd)
    .flatMap(({ name, sql }) => {
      const rows = db.prepare(sql).all()
      return rows.length > 0 ? [`${name}: ${JSON.stringify(rows.slice(0, 2)).slice(0, 900)}`] : []
    })
  db.close()
  return violations
}
