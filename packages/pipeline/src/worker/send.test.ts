import { noLog, Unavailable, Undeliverable } from '@postern/message'
import { describe, expect, test, vi } from 'vitest'
import { createPartialChannel, describeChannel } from '../../test/channels.ts'
import { createMemoryStore, createQuietSystem, delivery } from '../../test/memory-store.ts'
import type { PreparedDelivery } from '../ports/channel/addressing.ts'
import { createSender } from '../ports/channel/outbound.ts'
import { createBreaker } from './hosts/breaker.ts'
import type { SendDeps } from './send.ts'
import { sendDelivery } from './send.ts'

function sendBy(prepare: (() => PreparedDelivery) | undefined) {
  const { store, settlements } = createMemoryStore()
  const warn = vi.fn()
  const sendDeps: SendDeps = {
    results: store,
    system: createQuietSystem({ log: { ...noLog, warn } }),
    retry: { initialDelayMs: 1_000, maxDelayMs: 60_000, giveUpAfterMs: 3_600_000 },
    channels: prepare ? [createPartialChannel(delivery('d1').via, { prepare })] : [],
  }
  return { settlement: sendDelivery(delivery('d1'), sendDeps), settlements, warn }
}

function failWith(error: unknown): () => PreparedDelivery {
  return () => ({ wire: 'document', transmit: () => Promise.reject(error) })
}

describe('sendDelivery()', () => {
  test('marks the delivery as sent, with the document and the note', async () => {
    const transmit = async () => ({ note: '202' })
    const { settlement, settlements } = sendBy(() => ({ wire: 'document', transmit }))
    expect(await settlement).toEqual({
      state: 'sent',
      wire: 'document',
      note: '202',
      attempt: { at: 0, ms: expect.any(Number) },
    })
    expect(settlements).toMatchObject([{ delivery: { id: 'd1' }, settlement: { state: 'sent' } }])
  })

  test('retries later if the peer did not answer', async () => {
    const { settlement } = sendBy(
      failWith(
        new Unavailable('The inbox answered 503', {
          retryAfter: 60,
          status: 503,
          replyLine: '503 Service Unavailable',
        }),
      ),
    )
    expect(await settlement).toEqual({
      state: 'later',
      dueAt: 60_000,
      reason: 'unavailable',
      error: 'The inbox answered 503',
      wire: 'document',
      attempt: { at: 0, ms: expect.any(Number), status: 503, reply_line: '503 Service Unavailable' },
    })
  })

  test('gives up after a final refusal', async () => {
    const { settlement } = sendBy(failWith(new Undeliverable('The inbox answered 410')))
    expect(await settlement).toEqual({
      state: 'dead',
      reason: 'refused',
      error: 'The inbox answered 410',
      wire: 'document',
      attempt: { at: 0, ms: expect.any(Number) },
    })
  })

  test('retries after an error in rendering, whose text only the log gets', async () => {
    const bug = new TypeError('secret is undefined')
    const { settlement, warn } = sendBy(() => {
      throw bug
    })
    expect(await settlement).toEqual({
      state: 'later',
      dueAt: 500,
      reason: 'unavailable',
      error: 'internal error, see the log',
      wire: undefined,
      attempt: { at: 0, ms: expect.any(Number) },
    })
    expect(warn).toHaveBeenCalledWith({ correlation_id: 'c1', delivery: 'd1', err: bug }, 'delivery failed')
  })

  test('gives up if the channel is not open', async () => {
    const { settlement } = sendBy(undefined)
    expect(await settlement).toEqual({
      state: 'dead',
      reason: 'channel_closed',
      error: 'the channel "activitypub" is not open',
    })
  })
})

describe('sendDelivery() with a breaker', () => {
  function openSendDeps(now: () => number, transmit: () => Promise<object>) {
    const system = createQuietSystem({ now })
    const prepare = vi.fn(() => ({ wire: 'document', transmit }))
    const sending: SendDeps = {
      results: createMemoryStore().store,
      system,
      retry: { initialDelayMs: 1_000, maxDelayMs: 60_000, giveUpAfterMs: 48 * 3_600_000 },
      breaker: createBreaker(system),
      channels: [createPartialChannel(delivery('d1').via, { prepare })],
    }
    return { sending, prepare }
  }

  const transmitToSilentHost = () => Promise.reject(new Unavailable('Cannot fetch: no answer in time'))
  const sendTimes = async (sending: SendDeps, times: number) => {
    for (let count = 0; count < times; count += 1) await sendDelivery(delivery('d1'), sending)
  }

  test('postpones a delivery to a silent host without rendering or counting it', async () => {
    const { sending, prepare } = openSendDeps(() => 0, transmitToSilentHost)
    await sendTimes(sending, 5)
    expect(await sendDelivery(delivery('d2'), sending)).toEqual({
      state: 'later',
      dueAt: 30 * 60_000,
      reason: 'host_left_alone',
      error: 'its host does not answer and is left alone for a while',
      isUncounted: true,
    })
    expect(prepare).toHaveBeenCalledTimes(5)
  })

  test('gives up after too long a wait, also during the breaker’s pause', async () => {
    let now = 0
    const { sending } = openSendDeps(() => now, transmitToSilentHost)
    const oldDelivery = { ...delivery('d1'), attempt: 4, firstAttemptAt: 0 }
    now = 48 * 3_600_000
    for (let count = 0; count < 5; count += 1) await sendDelivery({ ...delivery('d2'), queuedAt: now }, sending)
    expect(await sendDelivery(oldDelivery, sending)).toEqual({
      state: 'dead',
      reason: 'given_up',
      error: 'given up after 3 tries: its host does not answer and is left alone for a while',
    })
  })

  test.each<[string, () => Promise<object>]>([
    ['accepts deliveries', async () => ({})],
    ['refuses deliveries', () => Promise.reject(new Undeliverable('The inbox answered 400', { status: 400 }))],
    ['asks for a pause', () => Promise.reject(new Unavailable('The inbox answered 429', { status: 429 }))],
  ])('continues to send to a host that %s', async (_, transmit) => {
    const { sending, prepare } = openSendDeps(() => 0, transmit)
    await sendTimes(sending, 9)
    expect(prepare).toHaveBeenCalledTimes(9)
  })

  test('does not count an internal error against the host', async () => {
    const { sending, prepare } = openSendDeps(
      () => 0,
      () => Promise.reject(new TypeError('x')),
    )
    await sendTimes(sending, 9)
    expect(prepare).toHaveBeenCalledTimes(9)
  })

  test('waits as long as a host asks', async () => {
    const error = new Unavailable('The inbox answered 429', { status: 429, retryAfter: 60 })
    const { sending, prepare } = openSendDeps(
      () => 0,
      () => Promise.reject(error),
    )
    await sendTimes(sending, 1)
    expect(await sendDelivery(delivery('d2'), sending)).toMatchObject({
      dueAt: 60_000,
      error: 'its host asked for time',
    })
    expect(prepare).toHaveBeenCalledTimes(1)
  })

  test('postpones all mail for a minute if its one server does not answer, and nothing else', async () => {
    const { sending, prepare } = openSendDeps(() => 0, transmitToSilentHost)
    const sendMail = (name: string) => sendDelivery({ ...delivery(name), to: `${name}@${name}.test` }, sending)
    for (const name of ['a', 'b', 'c', 'd', 'e']) await sendMail(name)
    expect(await sendMail('f')).toMatchObject({ state: 'later', dueAt: 60_000, isUncounted: true })
    expect(prepare).toHaveBeenCalledTimes(5)
    await sendDelivery(delivery('d1'), sending)
    expect(prepare).toHaveBeenCalledTimes(6)
  })
})

describe('createSender()', () => {
  test('renders immediately and delivers on request', async () => {
    const deliver = vi.fn(async () => ({ note: 'taken' }))
    const sender = createSender<{ text: string; signature: string }>({
      descriptor: describeChannel('activitypub'),
      address: () => ({ deliveries: [], aliases: [] }),
      render: ({ id }) => ({ text: id, signature: 's3cret' }),
      describe: ({ text }) => text,
      deliver,
    })
    const prepared = sender.prepare(delivery('d1'))
    expect(prepared.wire).toBe('d1')
    expect(deliver).not.toHaveBeenCalled()
    expect(await prepared.transmit()).toEqual({ note: 'taken' })
    expect(deliver).toHaveBeenCalledWith({ text: 'd1', signature: 's3cret' }, delivery('d1'))
  })
})
