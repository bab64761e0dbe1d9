import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTranscriptRoutes, transcriptOperations } from './route.ts'

const thread = { owner: 'ann', transport: 'web', key: 't1', thread_id: '1' }

/** Exports a conversation of this many pages, and counts the pages that were read. */
function startExport(pages: number) {
  let read = 0
  const transcript = {
    findThread: async () => thread,
    async read() {
      read += 1
      return read > pages ? [] : [{ seq: read }]
    },
  }
  const routes = createTranscriptRoutes({ store: { transcript }, channels: [] } as never)
  const route = routes.find(({ operation }) => operation === transcriptOperations.export)
  const query = { owner: 'ann', thread: 'web:t1', format: 'jsonl' }
  const context = { req: { header: () => 'application/x-ndjson' } }
  const pendingResponse = route?.run({ query, context } as never) as Promise<Response>
  return { pendingResponse, countRead: () => read }
}

test('an export loads a page only when its reader has read the previous one, and none for HEAD', async () => {
  const { pendingResponse, countRead } = startExport(5)
  const reader = (await pendingResponse).body?.getReader()
  await setImmediate()
  expect(countRead()).toBe(0)
  const { value } = (await reader?.read()) ?? {}
  await setImmediate()
  expect({ line: new TextDecoder().decode(value), read: countRead() }).toEqual({ line: '{"seq":1}\n', read: 1 })
  await reader?.cancel()
})
