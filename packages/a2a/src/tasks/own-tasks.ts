import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Platform, Store, TaskFilter, TaskRecord } from '@postern/core'
import { randomHex } from '@postern/core'
import type { Call } from '../endpoint/call.ts'
import { A2aRejection, refuseField } from '../format/errors.ts'
import { isTaskId } from './lifetime.ts'

/**
 * The caller's own task with this agent. Another caller's task is answered like an unknown one (A2A §13.1). Owner and id are one key.
 * Other forms of ids are not looked up: they have any length and any character, and PostgreSQL fails on U+0000. @throws A2aRejection `taskNotFound`
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

type TaskPosition = NonNullable<TaskFilter['after']>

export type Cursors = ReturnType<typeof createCursors>

const tokenPattern = /^(\d{1,16})\.([0-9a-f-]{36})\.([A-Za-z0-9_-]{43})$/

/** Page tokens for one owner and one set of filters. Only this gateway can make them. */
export function createCursors(store: Pick<Store, 'secret'>, platform: Pick<Platform, 'randomBytes'>) {
  let reading: Promise<string> | undefined

  async function sign(place: string, scope: string): Promise<Buffer> {
    reading ??= store.secret('a2a-page-token', async () => randomHex(platform, 32))
    return createHmac('sha256', await reading)
      .update(`${place}\n${scope}`)
      .digest()
  }

  return {
    async seal({ updatedAt, id }: TaskPosition, scope: string): Promise<string> {
      const place = `${updatedAt}.${id}`
      return `${place}.${(await sign(place, scope)).toString('base64url')}`
    },
    /** @throws A2aRejection `invalidParams` for a token of another origin or scope */
    async open(token: string, scope: string): Promise<TaskPosition> {
      const [, updatedAt = '', id = '', mac = ''] = tokenPattern.exec(token) ?? []
      const expected = await sign(`${updatedAt}.${id}`, scope)
      const given = Buffer.from(mac, 'base64url')
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
        throw refuseField('Cannot ListTasks', 'pageToken', 'does not belong to this list')
      }
      return { updatedAt: Number(updatedAt), id }
    },
  }
}
