import { expect, test } from 'vitest'
import { whyOperation } from '../commands/why/route.ts'
import { createClient } from './remote-client.ts'

async function explain(id: string): Promise<readonly string[]> {
  const queries: string[] = []
  const send = async (path: string) => {
    queries.push(path)
    return Response.json({})
  }
  const client = createClient('token', send, { isRunning: true, isSimulating: false, close: async () => undefined })
  await client.call(whyOperation, { parameters: { id } }).catch(error => queries.push(error.message))
  return queries
}

test.each([
  ['', 'Cannot explain: id is empty'],
  ['.', 'Cannot explain: id is "."'],
  ['..', 'Cannot explain: id is ".."'],
])('the client refuses the id "%s", which would change the path, before it sends a request', async (id, sentence) => {
  expect(await explain(id)).toEqual([sentence])
})

test.each([
  ['#3', '/operator/api/why/%233'],
  ['https://a.test/1?x=2', '/operator/api/why/https%3A%2F%2Fa.test%2F1%3Fx%3D2'],
  ['...', '/operator/api/why/...'],
])('the client encodes the id "%s" within its segment', async (id, path) => {
  expect(await explain(id)).toEqual([path])
})
