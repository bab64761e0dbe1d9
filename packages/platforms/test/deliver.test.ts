import type { Json, Part } from '@postern/message'
import type { Delivery, Turn } from '@postern/pipeline'
import { expect, test } from 'vitest'
import type { OpenedSlack } from './open-slack.ts'
import { openSlackChannel } from './open-slack.ts'
import { slackBot } from './slack-api.ts'

const target: Json = {
  thread: 'slack:C1:1700000000.000001',
  conversation: 'slack:C1:1700000000.000001',
  scope: 'slack:T0001/C1',
  isDirect: false,
  user: 'U1',
  subject: 'slack:T0001/U1',
}

const at = '2026-12-01T09:00:00.000Z'
const message: Delivery['message'] = {
  id: 'slack:C1:1700000000.000001',
  thread_id: 't1',
  sender: { address: '@u1@t0001.slack', auth_method: 'none', verified: false },
  recipient: '@echo@agents.test',
  parts: [],
  recipient_capabilities: { mention_relay: { kind: 'inline' } },
  received_via: 'slack',
  received_at: at,
  raw: {},
}

function sketchAnswer(id: string, ...parts: readonly Part[]): NonNullable<Delivery['response']> {
  const sender = '@echo@agents.test'
  const answered = { thread_id: 't1', in_reply_to: message.id, sender, status: 'completed', created_at: at } as const
  return { id, ...answered, parts: [...parts] }
}

function sketchDelivery(text: string, { answer = 'r1', ...members }: SketchOptions = {}): Delivery {
  return {
    id: `delivery of ${answer}`,
    token: 1,
    attempt: 1,
    via: 'slack',
    agent: 'echo',
    target,
    correlationId: 'c1',
    queuedAt: Date.now(),
    to: 'slack:T0001/C1',
    message,
    response: sketchAnswer(answer, { kind: 'text', mime: 'text/markdown', content: text }),
    ...members,
  }
}

interface SketchOptions extends Partial<Delivery> {
  /** The id of the answer. */
  readonly answer?: string
}

const transmit = ({ channel }: OpenedSlack, delivery: Delivery) => channel.prepare(delivery).transmit()

/** Opens the channel over a store whose next note of a post fails, as if the process had ended. */
async function openForgetful() {
  let failures = 0
  const opened = await openSlackChannel({
    wrapRecords: records => ({
      ...records,
      async insert(...args) {
        if (failures > 0) {
          failures -= 1
          throw new Error('the process has ended')
        }
        return records.insert(...args)
      },
    }),
  })
  return { ...opened, failNextNote: () => (failures = 1) }
}

test('a repeated attempt finds the post whose acknowledgement was lost, and posts nothing twice', async () => {
  const opened = await openForgetful()
  const { api } = opened
  opened.failNextNote()
  await expect(transmit(opened, sketchDelivery('**Done**: see [it](https://a.test/x)'))).rejects.toThrow('has ended')
  const text = '*Done*: see <https://a.test/x|it>'
  api.answerNext('conversations.replies', {
    ok: true,
    messages: [
      { ts: '1700000000.000001', user: 'U1', text },
      { ts: '1800000000.000001', user: slackBot, text },
    ],
  })
  await transmit(opened, sketchDelivery('**Done**: see [it](https://a.test/x)', { attempt: 2 }))
  expect(api.posts()).toHaveLength(1)
  await opened.close()
})

test.each([
  ['an address', 'See https://a.test/x?y=1 now', 'See <https://a.test/x?y=1> now'],
  ['an address of a mailbox', '[Ann](mailto:ann@a.test)', '<mailto:ann@a.test|Ann>'],
  ['signs that Slack escapes', '> 1 < 2 & 3 > 2', '&gt; 1 &lt; 2 &amp; 3 &gt; 2'],
  ['a broken command', 'hello <!channel>', 'hello &lt;!channel&gt;'],
])('a repeated attempt also finds a lost post with %s', async (_, markdown, text) => {
  const opened = await openForgetful()
  const { api } = opened
  opened.failNextNote()
  await expect(transmit(opened, sketchDelivery(markdown))).rejects.toThrow('has ended')
  const messages = [{ ts: '1800000000.000001', user: slackBot, text }]
  api.answerNext('conversations.replies', { ok: true, messages })
  await transmit(opened, sketchDelivery(markdown, { attempt: 2 }))
  expect(api.posts()).toHaveLength(1)
  await opened.close()
})

test('a deletion removes all posts, even if one is already gone, and a repetition succeeds', async () => {
  const opened = await openForgetful()
  const { api } = opened
  await transmit(opened, sketchDelivery('word '.repeat(5_000)))
  const deletion = sketchDelivery('', { target: { ...(target as object), revision: 'delete' } })
  api.answerNext('chat.delete', { ok: false, error: 'message_not_found' })
  await transmit(opened, deletion)
  expect(api.calls.filter(({ method }) => method === 'chat.delete')).toHaveLength(3)
  await expect(transmit(opened, { ...deletion, attempt: 2 })).resolves.toMatchObject({ note: 'deleted' })
  await opened.close()
})

test('a repeated attempt posts again if the earlier post is not there, or belongs to another answer', async () => {
  const opened = await openForgetful()
  const { api } = opened
  await transmit(opened, sketchDelivery('Done'))
  const own = { ok: true, messages: [{ ts: '1800000000.000001', user: slackBot, text: 'Done' }] }
  api.answerNext('conversations.replies', own)
  await transmit(opened, sketchDelivery('Done', { answer: 'r2', attempt: 2 }))
  expect(api.posts()).toHaveLength(2)
  api.answerNext('conversations.replies', { ok: false, error: 'missing_scope' })
  await transmit(opened, sketchDelivery('Done', { answer: 'r3', attempt: 2 }))
  expect(api.posts()).toHaveLength(3)
  await opened.close()
})

test('a long answer becomes several posts, and a failed attempt goes on with the rest', async () => {
  const opened = await openForgetful()
  const { api } = opened
  const delivery = sketchDelivery('word '.repeat(5_000))
  api.answerNext('chat.postMessage', { ok: true, channel: 'C1', ts: '1800000000.900001' })
  api.answerNext('chat.postMessage', { ok: false, error: 'internal_error' })
  await expect(transmit(opened, delivery)).rejects.toMatchObject({ code: 'unavailable' })
  await transmit(opened, { ...delivery, attempt: 2 })
  const lengths = api.posts().map(({ form }) => form.markdown_text?.length ?? 0)
  expect(lengths).toHaveLength(4)
  expect(Math.max(...lengths)).toBeLessThanOrEqual(12_000)
  await opened.close()
})

test('an agent edits and deletes its answer where the answer stands', async () => {
  const opened = await openForgetful()
  const { api } = opened
  await transmit(opened, sketchDelivery('word '.repeat(5_000)))
  const revise = (text: string, revision: string) =>
    transmit(opened, sketchDelivery(text, { target: { ...(target as object), revision } }))
  await revise('shorter now', 'edit')
  const methods = () => api.calls.map(({ method }) => method).filter(method => /^chat\.(update|delete)/.test(method))
  expect(methods()).toEqual(['chat.update', 'chat.delete', 'chat.delete'])
  await revise('shorter now', 'delete')
  expect(methods()).toHaveLength(4)
  await expect(revise('again', 'edit')).rejects.toThrow('does not know where it was posted')
  await opened.close()
})

test('an answer with a decision goes to the asked person alone, because its link decides for everybody', async () => {
  const opened = await openForgetful()
  const { api, channel } = opened
  const policy: Part = { kind: 'policy', policy: { kind: 'consent_required', message: 'May I?', requirement: 'q1' } }
  const [delivery] = channel.address({ turn: { target } as Turn, response: sketchAnswer('r1', policy) }).deliveries
  expect(delivery).toMatchObject({ to: 'slack:T0001/U1', peer: 'slack:T0001/U1', target: { isPrivate: true } })
  await transmit(opened, sketchDelivery('May I?', { target: delivery?.target ?? null }))
  expect(api.posts()[0]?.form).toMatchObject({ channel: 'DU1' })
  const [plain] = channel.address({ turn: { target } as Turn, response: sketchAnswer('r2') }).deliveries
  expect(plain).toMatchObject({ to: 'slack:T0001/C1', target })
  await opened.close()
})
