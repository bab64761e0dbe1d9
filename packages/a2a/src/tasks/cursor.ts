import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Platform, Store, TaskFilter } from '@postern/core'
import { randomHex } from '@postern/core'
import { A2aRejection } from '../format/errors.ts'

export type TaskPosition = NonNullable<TaskFilter['after']>

/** Page tokens for one owner and one set of filters. Only this gateway can make them. */
export interface Cursors {
  seal(place: TaskPosition, scope: string): Promise<string>
  /** @throws A2aRejection `invalidParams` for a token of another origin or scope */
  open(token: string, scope: string): Promise<TaskPosition>
}

const tokenPattern = /^(\d{1,16})\.([0-9a-f-]{36})\.([A-Za-z0-9_-]{43})$/

export function createCursors(store: Pick<Store, 'secret'>, platform: Pick<Platform, 'randomBytes'>): Cursors {
  let reading: Promise<string> | undefined

  async function sign(place: string, scope: string): Promise<Buffer> {
    reading ??= store.secret('a2a-page-token', async () => randomHex(platform, 32))
    return createHmac('sha256', await reading)
      .update(`${place}\n${scope}`)
      .digest()
  }

  return {
    async seal({ updatedAt, id }, scope) {
      const place = `${updatedAt}.${id}`
      return `${place}.${(await sign(place, scope)).toString('base64url')}`
    },
    async open(token, scope) {
      const [, updatedAt = '', id = '', mac = ''] = tokenPattern.exec(token) ?? []
      const expected = await sign(`${updatedAt}.${id}`, scope)
      const given = Buffer.from(mac, 'base64url')
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw refuseCursor()
      return { updatedAt: Number(updatedAt), id }
    },
  }
}

function refuseCursor(): A2aRejection {
  const violations = [{ field: 'pageToken', description: 'does not belong to this list' }]
  return new A2aRejection('invalidParams', 'Cannot ListTasks: pageToken does not belong to this list', { violations })
}
