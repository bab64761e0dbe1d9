import { expect, test, vi } from 'vitest'
import { createUnreachableInboxHandler } from '../../src/inboxes/unreachable-inboxes.ts'

function openUnreachableInboxes(followers: number) {
  const queries: number[] = []
  const checked: string[] = []
  const sleep = vi.fn(async () => undefined)
  const relations = Array.from({ length: followers }, (_, at) => ({
    number: at + 1,
    agent: 'echo',
    via: 'activitypub' as const,
    relation: 'follower' as const,
    peer: `https://evil.test/users/${at}`,
    target: { inbox: '', sharedInbox: `https://evil.test/inbox/${at}` },
    since: 0,
  }))
  const onGone = createUnreachableInboxHandler({
    store: {
      async listRelations({ after = 0, limit }) {
        queries.push(after)
        return relations.slice(after, after + limit)
      },
    },
    checkDeleted: async peer => void checked.push(peer),
    system: { now: () => 0, sleep: sleep },
  })
  return { onGone, queries, checked }
}

test('a thousand unreachable inboxes cause two scans of the followers (AP-42)', async () => {
  const { onGone, queries, checked } = openUnreachableInboxes(1_000)
  for (let at = 0; at < 1_000; at += 1) onGone('echo', { inbox: `https://evil.test/inbox/${at}` })
  await vi.waitFor(() => expect(checked).toHaveLength(1_000))
  expect(queries.filter(after => after === 0)).toHaveLength(2)
})

test('the gateway does not scan again for an inbox that has just become unreachable', async () => {
  const { onGone, queries, checked } = openUnreachableInboxes(1)
  onGone('echo', { inbox: 'https://evil.test/inbox/0' })
  await vi.waitFor(() => expect(checked).toHaveLength(1))
  onGone('echo', { inbox: 'https://evil.test/inbox/0' })
  await new Promise(setImmediate)
  expect(queries).toEqual([0])
})
