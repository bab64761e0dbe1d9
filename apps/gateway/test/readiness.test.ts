import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { openTestHouse } from './house.ts'

test('a gateway whose file another program has locked is alive and not ready, tells who comes to come again, and is ready afterwards', async () => {
  const house = await openTestHouse()
  const look = async (path: string, init?: RequestInit) => {
    const answer = await fetch(`${house.url()}${path}`, init)
    return { status: answer.status, retry: answer.headers.get('retry-after'), text: await answer.text() }
  }
  const send = async (messageId: string) =>
    look('/a2a', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'a2a-version': '1.0',
        authorization: `Bearer ${await house.world.a2a.token()}`,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: { message: { messageId, role: 'ROLE_USER', parts: [{ text: 'hello' }] } },
      }),
    })
  // With the keys of its issuer at hand, a token asks nothing of a world that stands still with the file.
  expect(await send('m0')).toMatchObject({ status: 200 })
  const other = new DatabaseSync(join(house.dataDir, 'postern.db'))
  other.exec('BEGIN IMMEDIATE')
  expect(await look('/readyz')).toEqual({ status: 503, retry: '5', text: '{"status":"not ready"}' })
  expect(await look('/healthz')).toMatchObject({ status: 200 })
  const refused = await send('m1')
  expect(refused).toMatchObject({ status: 503, retry: '5' })
  expect(refused.text).toContain('Cannot store: the database does not take writes now')
  other.exec('ROLLBACK')
  other.close()
  expect(await look('/readyz')).toMatchObject({ status: 200 })
  expect(await send('m1')).toMatchObject({ status: 200 })
  await house.close()
}, 60_000)
