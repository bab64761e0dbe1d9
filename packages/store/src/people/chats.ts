import type { ObjectStore } from '@postern/core'
import { parseJsonText } from '@postern/core'
import { readAfterWait } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { StoreTranscript } from '../transcript/open.ts'
import type { OwnedRecordStore } from '../transcript/records/store.ts'

/** Where people who chat have more than messages. */
export interface ChatPlaces {
  readonly transcript: Pick<StoreTranscript, 'forget' | 'forgetOwner'>
  readonly objects: Pick<ObjectStore, 'removeObjects'>
  readonly records: Pick<OwnedRecordStore, 'removeOwner'>
}

/** What somebody who chats has beside what they said: the threads of this agent (or of all) and of none, their files, their records. */
export type ForgetChats = (owner: string, agent: string | undefined) => Promise<void>

interface ThreadRow {
  readonly thread_id: string
  readonly lock_token: string | null
  readonly lock_expires_at: number | null
  readonly transport: string
  readonly key: string
}

export function createChatterForgetting(
  { db, channels, now }: Pick<StoreContext, 'db' | 'channels' | 'now'>,
  { transcript, objects, records }: ChatPlaces,
): ForgetChats {
  const list = db.prepare<ThreadRow>(
    `SELECT t.thread_id, t.lock_token, t.lock_expires_at, a.transport, a.key FROM transcript_aliases a
       JOIN transcript_threads t ON t.id = a.thread WHERE a.owner = ?`,
  )
  return async (owner, agent) => {
    if (agent === undefined) await transcript.forgetOwner(owner)
    const threads = await readAfterWait(db, () => list.all(owner))
    for (const { thread_id, lock_token, lock_expires_at, ...alias } of threads) {
      if (channels.chats.includes(alias.transport) && isWithAnother(alias, agent)) continue
      const isLocked = lock_token !== null && (lock_expires_at ?? 0) > now()
      await transcript.forget({ owner, thread_id }, isLocked ? { token: lock_token } : undefined)
    }
    await objects.removeObjects(owner)
    await records.removeOwner(owner)
  }
}

/** A chat with another agent. Stores, sessions and what is read from elsewhere are of none. */
function isWithAnother({ key }: Pick<ThreadRow, 'key'>, agent: string | undefined): boolean {
  const [named] = parseJsonText(key) as readonly string[]
  return named !== agent
}
