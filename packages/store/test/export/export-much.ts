// Exports a long thread as a program of its own, with the given path and number of entries.
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import { exportThread } from '@postern/transcript'

/**
 * Writes a thread with this number of entries of 16 KiB, exports it, and prints their number. With a large number they do not fit into its memory.
 */
const [path = '', count = '0'] = process.argv.slice(2)
const log = { debug() {}, info() {}, warn() {}, error() {} }
const store = await openSqliteStore({ channels: sketchedChannels, path, now: Date.now, log })
const thread = await store.transcript.openThread('ann', { transport: 'x', key: 'long' })
const value = 'x'.repeat(16 * 1024)
for (let at = 0; at < Number(count); at += 250) {
  const entries = Array.from({ length: 250 }, (_, index) => ({
    entry_id: `e${at + index}`,
    thread_id: thread.thread_id,
    ...({ scope: 'agent', kind: 'task', role: 'system' } as const),
    content: { value: `${at + index} ${value}` },
    at: '2026-03-13T10:00:00.000Z',
  }))
  await store.transcript.append(thread, entries)
}
let [messages, bytes] = [0, 0]
for await (const page of exportThread(thread, 'store', store)) {
  messages += page.length
  bytes += JSON.stringify(page).length
}
process.stdout.write(JSON.stringify({ messages, bytes }))
await store.close()
