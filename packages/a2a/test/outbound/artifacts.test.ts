import type { Part } from '@postern/message'
import { plainTextOf } from '@postern/message'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TestPeer } from '../setup/peer.ts'
import { openAgentPeer, taskWith } from '../setup/peer.ts'

let peer: TestPeer

beforeEach(async () => {
  peer = await openAgentPeer()
})
afterEach(() => peer.close())

const text = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const
const ids = { taskId: 't-1', contextId: 'c-1' }
const artifact = (artifactId: string, texts: readonly string[], name?: string) => ({
  artifactId,
  ...(name && { name }),
  parts: texts.map(content => ({ text: content })),
})
const completedTask = (...artifacts: object[]) => taskWith('TASK_STATE_COMPLETED', { artifacts })

async function readWhole(...artifacts: object[]) {
  peer.answerRpc(() => completedTask(...artifacts))
  return (await peer.call()).parts
}

describe('the artifacts of a remote task', () => {
  test('keep their parts apart', async () => {
    const parts = await readWhole(artifact('a', ['Tea is ready.', 'Milk is cold.']))
    expect(parts).toEqual([text('Tea is ready.'), text('Milk is cold.')])
    expect(plainTextOf(parts)).toBe('Tea is ready.\n\nMilk is cold.')
  })

  test('join into one text where spaces at the edges show that the parts are pieces of a stream', async () => {
    expect(await readWhole(artifact('a', ['Open', ' daily', ', from ', 'nine']))).toEqual([
      text('Open daily, from nine'),
    ])
  })

  test('become separate results with their names', async () => {
    const parts = await readWhole(
      artifact('a', ['Tea is ready.'], 'kitchen'),
      artifact('b', ['The bus leaves at 9.'], 'travel'),
    )
    expect(parts).toEqual([
      { ...text('Tea is ready.'), section: { id: 'a', name: 'kitchen' } },
      { ...text('The bus leaves at 9.'), section: { id: 'b', name: 'travel' } },
    ])
  })
})

describe('a stream of artifacts from a remote agent', () => {
  const headers = { 'content-type': 'text/event-stream' }
  const event = (result: unknown) => `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`
  const update = (content: object, overrides: object = {}) => ({
    artifactUpdate: { ...ids, artifact: content, ...overrides },
  })
  const completedUpdate = { statusUpdate: { ...ids, status: { state: 'TASK_STATE_COMPLETED' } } }
  const append = { append: true }

  beforeEach(() => {
    peer.card.capabilities = { streaming: true }
  })

  async function receive(events: readonly object[], task: object = {}) {
    const pieces: (readonly Part[])[] = []
    peer.answerRpc(({ body }) => (body.method === 'GetTask' ? task : { headers, text: events.map(event).join('') }))
    const answer = await peer.call('hello', { onPiece: parts => pieces.push(parts) })
    return { pieces, rest: answer.rest, parts: answer.parts }
  }

  test('passes its pieces on as they arrive', async () => {
    const events = [
      taskWith('TASK_STATE_WORKING'),
      update(artifact('a', ['Open '])),
      update(artifact('a', ['daily']), append),
    ]
    const { pieces, rest, parts } = await receive([...events, completedUpdate])
    expect(pieces).toEqual([[text('Open ')], [text('daily')]])
    expect(rest).toEqual([])
    expect(parts).toEqual([text('Open daily')])
  })

  test('continues with the rest from GetTask when it breaks off', async () => {
    const workingEvents = [
      taskWith('TASK_STATE_WORKING'),
      update(artifact('a', ['Open '])),
      update(artifact('a', ['da']), append),
    ]
    const { task } = completedTask(artifact('a', ['Open ', 'da', 'ily']))
    const { pieces, rest } = await receive(workingEvents, task)
    expect(pieces.flat()).toEqual([text('Open '), text('da')])
    expect(rest).toEqual([text('ily')])
  })

  test.each(['behind', 'before'])(
    'reads GetTask after an event of an unknown kind %s the id of the task (A2A §3.1.3)',
    async where => {
      const odd = [taskWith('TASK_STATE_SUBMITTED'), { progressUpdate: { percent: 50 } }]
      const { task } = completedTask(artifact('a', ['Open daily.']))
      const { parts } = await receive(where === 'before' ? odd.toReversed() : odd, task)
      expect(parts).toEqual([text('Open daily.')])
    },
  )

  test('passes nothing on until it knows that the server appends', async () => {
    const anew = [
      update(artifact('a', ['Open'])),
      update(artifact('a', ['Open daily'])),
      update(artifact('a', ['Shut'])),
    ]
    const { pieces, rest } = await receive([taskWith('TASK_STATE_WORKING'), ...anew, completedUpdate])
    expect(pieces).toEqual([])
    expect(rest).toEqual([text('Shut')])
  })

  test('keeps interleaved artifacts apart', async () => {
    const [kitchen, travel] = [
      { id: 'a', name: 'kitchen' },
      { id: 'b', name: 'travel' },
    ]
    const { pieces, rest, parts } = await receive([
      taskWith('TASK_STATE_WORKING'),
      update(artifact('a', ['Tea '], 'kitchen')),
      update(artifact('b', ['Bus '], 'travel')),
      update(artifact('a', ['now'], 'kitchen'), append),
      update(artifact('b', ['at 9'], 'travel'), append),
      completedUpdate,
    ])
    expect(pieces.flat().map(part => ('section' in part ? part.section : undefined))).toEqual([
      kitchen,
      kitchen,
      travel,
      travel,
    ])
    expect(rest).toEqual([])
    expect(parts).toEqual([
      { ...text('Tea now'), section: kitchen },
      { ...text('Bus at 9'), section: travel },
    ])
  })
})

test('a continued task does not return its earlier artifacts again', async () => {
  const before = artifact('a', ['Tea is ready.'])
  const questionTask = taskWith('TASK_STATE_INPUT_REQUIRED', { artifacts: [before] })
  peer.answerRpc(({ body }) =>
    body.method === 'GetTask' ? questionTask.task : completedTask(before, artifact('b', ['Milk is cold.'])),
  )
  const { parts } = await peer.call('and?', { taskId: 't-1', contextId: 'c-1' })
  expect(plainTextOf(parts)).toBe('Milk is cold.')
})

describe('a file', () => {
  const bytes_ref = { kind: 'inline', data_base64: 'AQID' } as const
  const stored = {
    kind: 'content_addressed',
    algo: 'sha256',
    digest: '0'.repeat(64),
    url: 'https://agents.test/f',
  } as const
  const sentPart = () => peer.requests.at(-1)?.body.params.message.parts[0]

  test('goes out as bytes if the message contains them', async () => {
    const file = { kind: 'file', mime: 'image/png', bytes_ref } as const
    await peer.client.call('https://peer.test/card', [file], { callerName: 'desk' })
    expect(sentPart()).toEqual({ raw: 'AQID', mediaType: 'image/png' })
  })

  test.each([
    ['bytes if the card accepts its type', ['image/*'], { raw: 'AQID', mediaType: 'image/png' }],
    ['its URL otherwise', ['text/plain'], { url: 'https://agents.test/f', mediaType: 'image/png' }],
  ])('in the store goes as %s', async (_, modes, expected) => {
    peer.card.defaultInputModes = modes
    const file = { kind: 'file', mime: 'image/png', bytes_ref: stored } as const
    peer.blobs.set(stored.digest, new Uint8Array([1, 2, 3]))
    await peer.client.call('https://peer.test/card', [file], { callerName: 'desk' })
    expect(sentPart()).toEqual(expected)
  })
})
