// Tests the filters of the operator's lists of messages and deliveries.
import type { MessagePage } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { OpenStore } from '../setup/under-test.ts'
import { admitAll, leaseOnlyTurn, sketchAnswer, sketchIntake, withStore } from '../setup/under-test.ts'

const minute = (minuteOfHour: number) => `2026-01-01T00:0${minuteOfHour}:00.000Z`
const textParts = (content: string) => [{ kind: 'text', mime: 'text/plain', content } as const]

/** Sketches four messages, a minute apart. */
function sketchFour() {
  const sender = { address: '@Bob@other.test', auth_method: 'none', verified: false } as const
  return [
    sketchIntake('m1', { message: { received_at: minute(1), parts: textParts('Grüße an "alle"') } }),
    sketchIntake('m2', { message: { received_at: minute(2), sender }, flags: ['odd', 'late'] }),
    sketchIntake('m3', { message: { received_at: minute(3), received_via: 'email' }, agent: 'help' }),
    sketchIntake('m4', {
      message: { received_at: minute(4), parts: textParts('x'.repeat(40_000)) },
      disposition: 'keep',
    }),
  ]
}

const period = { since: minute(2), until: minute(4) }
const cases: readonly (readonly [what: string, filter: Omit<MessagePage, 'limit'>, ids: readonly string[]])[] = [
  ['an agent', { agent: 'help' }, ['m3']],
  ['a channel', { channel: 'email' }, ['m3']],
  ['a state', { state: 'ignored' }, ['m4']],
  ['a part of the sender’s address in any case', { sender: 'BOB@other' }, ['m2']],
  ['a flag', { flag: 'odd' }, ['m2']],
  ['a part of a flag, which is none', { flag: 'od' }, []],
  ['the instants between which it came', period, ['m3', 'm2']],
  ['words in any case', { text: 'GRÜSSE AN "' }, []],
  ['words with other letters in any case', { text: 'GRÜßE AN "' }, ['m1']],
  ['words that only the form of the stored text has', { text: 'mime' }, []],
  ['several of them at once', { ...period, sender: 'bob', flag: 'late' }, ['m2']],
  ['a wildcard of databases, which is a letter', { sender: '%' }, []],
]

export function listFilterContract(openStore: OpenStore): void {
  describe('filtered lists', () => {
    test.each(cases)('listMessages() finds messages by %s', (_what, filter, ids) =>
      withStore(openStore, async ({ store }) => {
        await admitAll(store, sketchFour())
        const messages = await store.listMessages({ limit: 9, ...filter })
        expect(messages.map(({ id }) => id)).toEqual(ids)
      })(),
    )
    describeWindows(openStore)
    test(
      'listDeliveries() finds deliveries by agent, channel, text and time',
      withStore(openStore, async ({ store }) => {
        await store.admit(sketchIntake('m1'), 'c')
        const turn = await leaseOnlyTurn(store)
        await store.commit(turn, sketchAnswer(turn, 'hello', ['https://a.test/inbox', 'https://b.test/inbox']))
        const findRecipients = async (filter: object) =>
          (await store.listDeliveries({ limit: 9, ...filter })).map(({ to }) => to)
        expect(await findRecipients({ text: 'B.TEST' })).toEqual(['https://b.test/inbox'])
        expect(await findRecipients({ agent: 'echo', channel: 'a2a', state: 'queued' })).toHaveLength(2)
        expect(await findRecipients({ agent: 'other' })).toEqual([])
        expect(await findRecipients({ channel: 'email' })).toEqual([])
        expect(await findRecipients({ until: '2020-01-01T00:00:00.000Z' })).toEqual([])
        expect(await findRecipients({ since: '2020-01-01T00:00:00.000Z' })).toHaveLength(2)
      }),
    )
    test(
      'listRefusals() finds refusals by agent, channel, code, sender, text and time',
      withStore(openStore, async ({ store }) => {
        const refusal = {
          via: 'email',
          from: '192.0.2.1',
          code: 'malformed',
          reason: 'Cannot read mail: no From',
        } as const
        store.refuse({ ...refusal, at: minute(1), claimed_sender: 'Eve@evil.test', agent: 'echo' })
        store.refuse({ ...refusal, at: minute(2), via: 'a2a', code: 'forbidden', reason: 'Cannot call: closed' })
        const findChannels = async (filter: object) =>
          (await store.listRefusals({ limit: 9, ...filter })).map(({ via }) => via)
        expect(await findChannels({})).toEqual(['a2a', 'email'])
        expect(await findChannels({ agent: 'echo' })).toEqual(['email'])
        expect(await findChannels({ channel: 'a2a' })).toEqual(['a2a'])
        expect(await findChannels({ code: 'forbidden' })).toEqual(['a2a'])
        expect(await findChannels({ sender: 'eve@' })).toEqual(['email'])
        expect(await findChannels({ sender: '192.0.2' })).toEqual(['a2a', 'email'])
        expect(await findChannels({ text: 'NO FROM' })).toEqual(['email'])
        expect(await findChannels({ since: minute(2) })).toEqual(['a2a'])
        expect(await findChannels({ until: minute(2) })).toEqual(['email'])
      }),
    )
  })
}

function describeWindows(openStore: OpenStore): void {
  test(
    'findListWindow() returns the numeric bounds of a period, and whether an older page follows',
    withStore(openStore, async ({ store }) => {
      const hours = Array.from({ length: 20 }, (_, hour) => `2026-01-01T${String(hour).padStart(2, '0')}:00:00.000Z`)
      const numbers = await admitAll(
        store,
        hours.map((received_at, index) => sketchIntake(`m${index}`, { message: { received_at } })),
      )
      const window = await store.findListWindow('messages', { since: hours[5], until: hours[9] })
      // The period has a minute of slack, so the row at its end is read, too.
      expect(window).toEqual({ after: numbers[10], floor: numbers[5], isLast: true })
      expect(await store.findListWindow('messages', {})).toMatchObject({ floor: 0, isLast: true })
      const early = await store.findListWindow('messages', { until: '2020-01-01T00:00:00.000Z' })
      expect(await store.listMessages({ limit: 9, after: early.after, floor: early.floor })).toEqual([])
      expect(await store.findListWindow('deliveries', { since: hours[5] })).toMatchObject({ isLast: true })
      expect(await store.findListWindow('dead', {})).toMatchObject({ isLast: true })
    }),
  )
}
