import { afterEach, expect, test, vi } from 'vitest'
import { readText } from '../gateway.ts'
import { composeNote, postActivity } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// An agent answers one person in a public thread, in private. Others who write into the thread must not get that
// answer.

let stage: Stage
afterEach(() => stage.close())

const secret = 'your balance is 7'

async function askInPublic() {
  stage = await openStage({
    agents: {
      echo: {
        handle: ({ parts }) => ({
          ...(readText(parts).includes('balance') && { visibility: 'direct' as const }),
          parts: [{ kind: 'text' as const, mime: 'text/plain' as const, content: secret }],
        }),
      },
    },
  })
  const { peer, alice, mallory, gateway } = stage
  for (const inbox of ['good.test/users/alice/inbox', 'good.test/inbox', 'evil.test/inbox'])
    peer.serve(`https://${inbox}`, { status: 202 })
  gateway.work()
  const question = composeNote(alice, { content: '<p>What is my balance?</p>' })
  await postActivity(gateway, alice, question)
  await vi.waitFor(() => expect(gateway.resolved).toHaveLength(1))
  await vi.waitFor(async () => expect((await stage.listStoredMessages())[0]?.state).toBe('answered'))
  const inReplyTo = (question.object as { id: string }).id
  await postActivity(gateway, mallory, composeNote(mallory, { inReplyTo, content: '<p>And what was it?</p>' }))
  await vi.waitFor(() => expect(gateway.resolved).toHaveLength(2))
  return { ...stage, inReplyTo }
}

test('other people’s history does not contain a private answer (AP-65)', async () => {
  const { gateway } = await askInPublic()
  const history = gateway.resolved[1]?.history ?? []
  expect(history.map(({ role }) => role)).toEqual(['user', 'assistant'])
  expect(readText(history[1]?.parts ?? [])).toBe('[answered, not before everybody]')
  expect(JSON.stringify(history)).not.toContain(secret)
})

test('other people’s history contains the public answers', async () => {
  const { gateway, alice, inReplyTo } = await askInPublic()
  await vi.waitFor(async () => expect((await stage.listStoredMessages())[0]?.state).toBe('answered'))
  await postActivity(gateway, alice, composeNote(alice, { inReplyTo, content: '<p>Well</p>' }))
  await vi.waitFor(() => expect(gateway.resolved).toHaveLength(3))
  expect(JSON.stringify(gateway.resolved[2]?.history)).toContain(secret)
})
