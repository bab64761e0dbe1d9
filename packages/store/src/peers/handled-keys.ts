// Stores digests of the keys of deleted messages, so that a repeated message gets no second answer.
import { createHmac, randomBytes } from 'node:crypto'
import type { ChannelFacts } from '../channels/channel-facts.ts'
import type { FileSql } from '../sql/file-sql.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { createExpiredKeyRemoval } from './single-use.ts'

/** The name of the secret that is the key of the digests. The key never changes, because existing digests would not match under a new key. */
export const handledSecretName = 'handled-messages'

export function createHandledSecret(): string {
  return randomBytes(32).toString('base64')
}

/**
 * Reads the key of the digests. If there is none, it creates and stores one. In a store that is not writable, it stores nothing and returns a key that
 * matches no digest.
 */
export function openHandledSecret(db: FileSql, isWritable: boolean): string {
  const find = db.prepare<{ value: string }>('SELECT value FROM secrets WHERE name = ?')
  const secret = find.get(handledSecretName)?.value
  if (secret !== undefined) return secret
  const newSecret = createHandledSecret()
  if (!isWritable) return newSecret
  db.prepare('INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING').run(handledSecretName, newSecret)
  return find.get(handledSecretName)?.value ?? newSecret
}

/** Returns the SQL condition that a message with this digest was deleted and may arrive again. */
export function handledCondition(digest: string, now: string): string {
  return `EXISTS (SELECT 1 FROM single_use_keys WHERE digest = ${digest} AND expires_at >= ${now})`
}

interface MessageKey {
  readonly agent: string
  readonly channel: string
  readonly duplicateKey: string
}

/** The table with digests of the keys of deleted messages. The members are operations of a write. */
export interface HandledKeyTable {
  /** Stores the digest of the key of a message that is about to be deleted, for the time in which its peer may repeat the message. */
  storeDigest(message: number, now: number): Operation<void>
  /** Returns the digest that `isHandled` compares. */
  digest(key: MessageKey): Uint8Array
}

interface HandledKeyDeps {
  readonly channels: Pick<ChannelFacts, 'repeatsForMs'>
  readonly handledSecret: string
}

export function createHandledKeyTable(db: Sql, { channels, handledSecret }: HandledKeyDeps): HandledKeyTable {
  const read = db.prepare<MessageKey>(
    `SELECT agent, channel, duplicate_key AS "duplicateKey" FROM messages WHERE seq = ? AND kind = 'message' AND duplicate_key IS NOT NULL`,
  )
  const upsertKey = db.prepare(
    `INSERT INTO single_use_keys (digest, expires_at) VALUES (?, ?)
     ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at WHERE single_use_keys.expires_at < excluded.expires_at`,
  )
  const removeExpired = createExpiredKeyRemoval(db)
  const digest = ({ agent, channel, duplicateKey }: MessageKey) =>
    createHmac('sha256', handledSecret)
      .update(JSON.stringify([agent, channel, duplicateKey]))
      .digest()
  return {
    *storeDigest(message, now) {
      const key = yield* read.get(message)
      if (!key) return
      upsertKey.run(digest(key), now + channels.repeatsForMs(key.channel))
      removeExpired(now)
    },
    digest,
  }
}
