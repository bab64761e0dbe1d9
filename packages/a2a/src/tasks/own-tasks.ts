// Finds a caller's own tasks and creates the page tokens of their lists.
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Store, TaskFilter, TaskRecord } from '@postern/pipeline'
import type { Call } from '../endpoint/call.ts'
import { A2aRejection, refuseField } from '../format/errors.ts'
import { isTaskId } from './task-id.ts'

/**
 * Finds the caller's own task with this agent. Another caller's task is unknown (A2A §13.1), because owner and id are one key. The store is not asked
 * for ids of another form, because they can have any length and any character, and PostgreSQL fails on U+0000.
 * @throws A2aRejection `taskNotFound`
 */
export async function findOwnTask(
  id: string,
  { caller, agent }: Call,
  tasks: Pick<Store, 'findTask'>,
): Promise<TaskRecord> {
  const record = isTaskId(id) ? await tasks.findTask({ owner: caller.owner, id }) : undefined
  if (record?.agent !== agent.name) throw new A2aRejection('taskNotFound', 'Task not found')
  return record
}

/** The position from which a walk through a list of tasks continues. */
export interface WalkPosition extends NonNullable<TaskFilter['after']> {
  /**
   * The time of the last change of the newest task of the first page, in ms since the epoch. Tasks that change during the walk move above it, and
   * follow at its end. Absent once the walk lists these tasks, oldest first.
   */
  readonly newestAt?: number | undefined
}

export type Cursors = ReturnType<typeof createCursors>

const tokenPattern = /^(\d{1,16})\.([0-9a-f-]{36}|)\.(\d{1,16}|)\.([A-Za-z0-9_-]{43})$/

/** Creates the writer and reader of page tokens for one owner and one set of filters. Only this gateway can create them. */
export function createCursors(store: Pick<Store, 'openSecret'>) {
  /** Signs the position with each valid key, the newest first. */
  async function listSignatures(position: string, scope: string): Promise<readonly Buffer[]> {
    const keys = (await store.openSecret('a2a-page-token')).list()
    return keys.map(key => createHmac('sha256', key).update(`${position}\n${scope}`).digest())
  }

  return {
    /** Creates the page token of a position. */
    async createToken(position: WalkPosition, scope: string): Promise<string> {
      const positionText = formatPosition(position)
      const [signature] = await listSignatures(positionText, scope)
      return `${positionText}.${signature?.toString('base64url')}`
    },
    /** Reads a page token. @throws A2aRejection `invalidParams` for a token of another origin or scope */
    async readToken(token: string, scope: string): Promise<WalkPosition> {
      const [, updatedAt = '', id = '', newestAt = '', macText = ''] = tokenPattern.exec(token) ?? []
      const position = { updatedAt: Number(updatedAt), id, ...(newestAt !== '' && { newestAt: Number(newestAt) }) }
      const signatures = await listSignatures(formatPosition(position), scope)
      const sentMac = Buffer.from(macText, 'base64url')
      if (!signatures.some(signature => sentMac.length === signature.length && timingSafeEqual(sentMac, signature))) {
        throw refuseField('Cannot ListTasks', 'pageToken', 'does not belong to this list')
      }
      return position
    },
  }
}

function formatPosition({ updatedAt, id, newestAt }: WalkPosition): string {
  return `${updatedAt}.${id}.${newestAt ?? ''}`
}
