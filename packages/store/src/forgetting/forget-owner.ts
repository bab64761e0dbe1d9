// Forgets everything that belongs to an owner.
import { rememberedDecisionKind } from '@postern/pipeline'
import { createKeyedDigests } from '../digests/keyed-digest.ts'
import { maxRemovals } from '../messages/row-removal.ts'
import { createClaimRemoval } from '../peers/claims.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { createEntryRemoval } from '../threads/entry-removal.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { RemoveMessageDeps } from './remove-message.ts'
import { createRemoveMessage } from './remove-message.ts'
import { createThreadRowRemoval } from './remove-thread.ts'

export interface OwnerForgetting {
  /**
   * Deletes all tasks, messages and conversations of an owner, and aborts their running turns. Resolves when the deletion is durable.
   * @returns the number of tasks
   */
  forgetTasks(owner: string): Promise<number>
}

/**
 * Creates the function that forgets owners. Its statements read whole tables and are prepared at the first call. An index for such a rare operation
 * would slow down every message.
 */
export function createOwnerForgetter(context: StoreContext, tables: RemoveMessageDeps): OwnerForgetting {
  let preparedForget: OwnerForgetting['forgetTasks'] | undefined
  return {
    forgetTasks(owner) {
      preparedForget ??= prepareOwnerForgetting(context, tables)
      return preparedForget(owner)
    },
  }
}

function prepareOwnerForgetting(
  { db, write, now, scrub, handledSecret }: StoreContext,
  tables: RemoveMessageDeps,
): OwnerForgetting['forgetTasks'] {
  const listThreads = db.prepare<{ id: number }>('SELECT id FROM threads WHERE scope = ?')
  const listMessages = db.prepare<{ number: number; person: string }>(
    `SELECT seq AS number, channel || ' ' || lower(json_extract(envelope, '$.sender.address')) AS person FROM messages
     WHERE kind = 'message' AND (thread_id IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
       OR task_id IN (SELECT id FROM tasks WHERE owner = ?2)) ORDER BY seq DESC LIMIT +?3`,
  )
  const deleteRecords = db.prepare('DELETE FROM records WHERE person IN (SELECT value FROM json_each(?))')
  const deleteRememberedDecisions = db.prepare(
    `DELETE FROM records WHERE kind = '${rememberedDecisionKind}'
       AND json_extract(value, '$.subject') IN (SELECT value FROM json_each(?))`,
  )
  const countTasks = db.prepare<{ count: number }>('SELECT count(*) AS count FROM tasks WHERE owner = ?')
  const removeMessage = createRemoveMessage(db, tables)
  const digests = createKeyedDigests({ handledSecret })
  const withDigests = (names: readonly string[]) => JSON.stringify(digests.withDigests(names))
  const removeClaims = createClaimRemoval(db)
  const deleteTasks = createTaskRemoval(db, tables)
  const deleteThreads = createThreadListRemoval(db)

  function removeSlice(owner: string): Promise<number> {
    return write(function* (batch) {
      const threads = JSON.stringify((yield* listThreads.all(owner)).map(({ id }) => id))
      const messages = yield* listMessages.all(threads, owner, maxRemovals)
      for (const { number } of messages) yield* removeMessage(batch, number, now())
      const keys = [...new Set(messages.map(({ person }) => person))]
      deleteRecords.run(withDigests(keys))
      yield* removeClaims(keys.map(key => key.slice(key.indexOf(' ') + 1)))
      return messages.length
    })
  }

  /** Removes the tasks and threads of an owner. Returns undefined if a new message has arrived, which must be deleted first. */
  function removeTasks(owner: string): Promise<number | undefined> {
    return write(function* () {
      const threads = JSON.stringify((yield* listThreads.all(owner)).map(({ id }) => id))
      if ((yield* listMessages.all(threads, owner, 1)).length > 0) return undefined
      const removedCount = yield* deleteTasks(owner)
      yield* deleteThreads(threads)
      yield* removeClaims([owner])
      deleteRememberedDecisions.run(withDigests(listSubjects(owner)))
      return removedCount
    })
  }

  return async owner => {
    // The deletion of messages also deletes their tasks, so the count comes first.
    const taskCount = (await db.read(() => countTasks.get(owner)))?.count ?? 0
    for (;;) {
      while ((await removeSlice(owner)) > 0);
      const removedTasks = await removeTasks(owner)
      if (removedTasks === undefined) continue
      scrub()
      return Math.max(taskCount, removedTasks)
    }
  }
}

/** Lists the names that `subjectOf` gives an owner of chats: with the credential, and without it as in earlier releases. */
function listSubjects(owner: string): readonly string[] {
  const subject = owner.replace(/^web:/, '')
  return [subject, `["chat_token",${subject.slice(1)}`]
}

/** Prepares the deletion of the remaining tasks of an owner, whose messages are deleted already. It returns their number. */
function createTaskRemoval(db: Sql, { tasks }: Pick<RemoveMessageDeps, 'tasks'>): (owner: string) => Operation<number> {
  const listTasks = db.prepare<{ id: number }>('SELECT id FROM tasks WHERE owner = ?')
  const listEntries = db.prepare<{ seq: number }>('SELECT seq FROM messages WHERE task_id = ?')
  const deleteEntry = createEntryRemoval(db)
  const deletions = [
    'UPDATE messages SET task_id = NULL WHERE task_id = ?',
    'DELETE FROM push_subscriptions WHERE task_id = ?',
  ].map(sql => db.prepare(sql))
  return function* (owner) {
    const ownTasks = yield* listTasks.all(owner)
    for (const { id } of ownTasks) {
      for (const { seq } of yield* listEntries.all(id)) yield* deleteEntry(seq)
      for (const deletion of deletions) deletion.run(id)
      yield* tasks.remove(id)
    }
    return ownTasks.length
  }
}

function createThreadListRemoval(db: Sql): (threads: string) => Operation<void> {
  const inList = '(SELECT CAST(value AS INTEGER) FROM json_each(?))'
  const listEntries = db.prepare<{ seq: number }>(
    `SELECT seq FROM messages WHERE scope <> 'forgotten' AND thread_id IN ${inList}`,
  )
  const deleteEntry = createEntryRemoval(db)
  const rows = createThreadRowRemoval(db)
  return function* (threads) {
    for (const { seq } of yield* listEntries.all(threads)) yield* deleteEntry(seq)
    rows.deleteMemory(threads)
    rows.deleteThreads(threads)
  }
}
