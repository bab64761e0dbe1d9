// Forgets the threads, files and records of a chat user.
import type { ObjectStore, RemovedObjects } from '@postern/message'
import { parseJsonText } from '@postern/message'
import type { StoreContext } from '../transaction/store-context.ts'
import type { OwnedRecordStore } from '../transcript/records/record-store.ts'
import type { StoreTranscript } from '../transcript/transcript-store.ts'

/** The stores with data of a chat user besides messages. */
export interface ChatStores {
  readonly transcript: Pick<StoreTranscript, 'forget' | 'forgetOwner'>
  readonly objects: Pick<ObjectStore, 'removeObjects'>
  readonly records: Pick<OwnedRecordStore, 'removeOwner'>
}

/**
 * Forgets the data of a chat user besides messages. These are the threads with this agent (or with all), threads without an agent, files and records.
 */
export type ForgetChats = (owner: string, request: ForgetChatsRequest) => Promise<ForgetChatsResult>

interface ForgetChatsRequest {
  readonly agent: string | undefined
  /** True if the rows of unreachable files are deleted, too. */
  readonly leavesFiles: boolean
}

interface ForgetChatsResult extends RemovedObjects {
  /** The number of deleted threads and records. */
  readonly removedCount: number
}

interface ThreadRow {
  readonly thread_id: string
  readonly lock_token: string | null
  readonly lock_expires_at: number | null
  readonly transport: string
  readonly key: string
}

export function createChatUserForgetter(
  { db, channels, now }: Pick<StoreContext, 'db' | 'channels' | 'now'>,
  { transcript, objects, records }: ChatStores,
): ForgetChats {
  const list = db.prepare<ThreadRow>(
    `SELECT t.thread_id, t.lock_token, t.lock_expires_at, a.transport, a.key FROM transcript_aliases a
       JOIN transcript_threads t ON t.id = a.thread WHERE a.owner = ?`,
  )
  return async (owner, { agent, leavesFiles }) => {
    let removedCount = agent === undefined ? await transcript.forgetOwner(owner) : 0
    const threads = await db.read(() => list.all(owner))
    for (const { thread_id, lock_token, lock_expires_at, ...alias } of threads) {
      if (channels.chats.includes(alias.transport) && isWithOtherAgent(alias, agent)) continue
      const isLocked = lock_token !== null && (lock_expires_at ?? 0) > now()
      await transcript.forget({ owner, thread_id }, isLocked ? { token: lock_token } : undefined)
      removedCount += 1
    }
    const files = await objects.removeObjects(owner, { leavesBytes: leavesFiles })
    return { ...files, removedCount: removedCount + (await records.removeOwner(owner)) }
  }
}

/** Returns true if a chat is with another agent. */
function isWithOtherAgent({ key }: Pick<ThreadRow, 'key'>, agent: string | undefined): boolean {
  const [agentOfChat] = parseJsonText(key) as readonly string[]
  return agentOfChat !== agent
}
