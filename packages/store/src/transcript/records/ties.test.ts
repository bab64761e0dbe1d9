import type { Intake } from '@postern/pipeline'
import { rememberedDecisionSchema, rememberedRecordKey } from '@postern/pipeline'
import { sketchedChannels } from '@postern/testing'
import { createPendingActions } from '@postern/transcript'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { GatewayStore } from '../../index.ts'
import { openSqliteStore } from '../../index.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
const dayMs = 24 * 3_600_000
const ann = { via: 'email', address: '@ann@mail.test' } as const

let time: number
let store: GatewayStore

beforeEach(async () => {
  time = Date.UTC(2026, 0, 1)
  store = await openSqliteStore({ channels: sketchedChannels, path: ':memory:', now: () => time, log })
})
afterEach(() => store.close())

/** Admits a message and returns its number. */
async function admit(id: string, address: string, overrides: Partial<Intake> = {}): Promise<number> {
  await store.admit(
    {
      agent: 'shop',
      message: {
        id,
        thread_source: 't',
        sender: { address, auth_method: 'none', verified: false },
        recipient: '@shop@agents.test',
        parts: [{ kind: 'text', mime: 'text/plain', content: 'please' }],
        recipient_capabilities: { mention_relay: { kind: 'none' } },
        received_via: 'email',
        received_at: '2026-01-01T00:00:00.000Z',
      },
      duplicateKey: id,
      thread: { scope: '', references: ['root'] },
      aliases: [],
      proofs: [],
      raw: { bytes: new Uint8Array(), form: 'json' },
      target: {},
      disposition: 'answer',
      ...overrides,
    },
    'c',
  )
  return (await store.findMessage(id))?.number ?? Number.NaN
}

const recordKeyOf = (key: string, kind = 'pending-action') => ({ kind, owner: 'agent:shop', key })
const keysOf = async (kind = 'pending-action', owner = 'agent:shop') =>
  (await store.records.list(kind, owner)).map(({ key }) => key)

describe('a record', () => {
  test('disappears with its message, also in a conversation that continues', async () => {
    const [anns, bobs] = [await admit('m1', ann.address), await admit('m2', '@bob@mail.test')]
    await store.records.insert(recordKeyOf('ann'), { args: 1 }, { message: anns })
    await store.records.insert(recordKeyOf('bob'), { args: 2 }, { message: bobs })
    await store.records.insert(recordKeyOf('free'), { args: 3 })
    await store.forgetPerson({ addresses: [ann] })
    expect(await keysOf()).toEqual(['free', 'bob'])
  })

  test('gets a refusal if its message is gone', async () => {
    const message = await admit('m1', ann.address)
    await store.forgetPerson({ addresses: [ann] })
    expect(await store.records.insert(recordKeyOf('late'), 1, { message })).toBe(false)
    expect(await keysOf()).toEqual([])
  })

  test('does not return if its action ends after forgetPerson()', async () => {
    const actions = createPendingActions(store.records, {
      now: () => time,
      randomBytes: length => new Uint8Array(length),
    })
    const message = await admit('m1', ann.address)
    const wanted = { kind: 'refund', summary: 'Give it back?', apply_input: { args: { order: 'quince' } } }
    const { action_id } = await actions.create('agent:shop', wanted, { message })
    const ended = await actions.resolve('agent:shop', action_id, {
      decision: 'accepted',
      resolver: 'link',
      mayResolve: () => true,
      async apply() {
        await store.forgetPerson({ addresses: [ann] })
        return { refunded: true }
      },
    })
    expect(ended.resolution_result).toEqual({ refunded: true })
    expect(await keysOf()).toEqual([])
  })

  test('disappears with its person, with one agent or all, without affecting others', async () => {
    const tie = (address: string) => ({ person: `email ${address}` })
    for (const owner of ['agent:shop', 'agent:other']) {
      for (const address of [ann.address, '@bob@mail.test']) {
        await store.records.insert({ kind: 'swarm-ban', owner, key: address }, true, tie(address))
      }
    }
    await store.forgetPerson({ agent: 'shop', addresses: [ann] })
    expect([await keysOf('swarm-ban'), await keysOf('swarm-ban', 'agent:other')]).toEqual([
      ['@bob@mail.test'],
      ['@bob@mail.test', ann.address],
    ])
    await store.forgetPerson({ addresses: [ann] })
    expect(await keysOf('swarm-ban', 'agent:other')).toEqual(['@bob@mail.test'])
  })

  test('disappears with the tasks of its owner, without affecting others', async () => {
    const task = { owner: 'web:["https://id.test","ann"]', id: 'run', context: 't' }
    const message = await admit('m1', ann.address, { thread: { scope: task.owner, references: [] }, task })
    await store.records.insert(recordKeyOf('call'), 1, { message })
    await store.records.insert(recordKeyOf('ban', 'swarm-ban'), true, { person: `email ${ann.address}` })
    await store.records.insert(recordKeyOf('other', 'swarm-ban'), true, { person: 'email @bob@mail.test' })
    await store.forgetTasks(task.owner)
    expect([await keysOf(), await keysOf('swarm-ban')]).toEqual([[], ['other']])
  })

  test('is hidden when it expires, and a later insertion deletes it', async () => {
    const kind = 'swarm-shared-item:x'
    const insert = (key: string, until?: number) =>
      store.records.insert(recordKeyOf(key, kind), 1, { expiresAt: until })
    const count = async () => (await store.records.readQuota('agent:shop')).records
    for (let at = 0; at < 30; at += 1) await insert(`old ${at}`, time + dayMs)
    time += dayMs - 1
    await insert('new 1', time + dayMs)
    expect(await keysOf(kind)).toHaveLength(31)
    time += 1
    await insert('new 2')
    expect([await keysOf(kind), await count()]).toEqual([['new 2', 'new 1'], 12])
    expect(await store.records.get(recordKeyOf('old 29', kind))).toBeUndefined()
    expect(await insert('old 29')).toBe(true)
    expect([await keysOf(kind), await count()]).toEqual([['old 29', 'new 2', 'new 1'], 3])
  })

  test('disappears with its newest message, and not with an earlier one', async () => {
    const [anns, bobs] = [await admit('m1', ann.address), await admit('m2', '@bob@mail.test')]
    for (const key of ['passed on', 'anns']) await store.records.insert(recordKeyOf(key), 1, { message: anns })
    const { version = -1 } = (await store.records.get(recordKeyOf('passed on'))) ?? {}
    expect(await store.records.swap(recordKeyOf('passed on'), version, 2, { message: bobs })).toBe(true)
    await store.forgetPerson({ addresses: [ann] })
    expect(await keysOf()).toEqual(['passed on'])
    const left = (await store.records.get(recordKeyOf('passed on')))?.version ?? -1
    expect(await store.records.swap(recordKeyOf('passed on'), left, 3, { message: anns })).toBe(false)
    await store.forgetPerson({ addresses: [{ via: 'email', address: '@bob@mail.test' }] })
    expect(await keysOf()).toEqual([])
  })
})

describe('a derived record', () => {
  const [source, derived] = [
    recordKeyOf('item', 'swarm-shared-item:x'),
    recordKeyOf('numbers', 'swarm-shared-embedding:x'),
  ]
  const most = { records: 2, bytes: 100 }

  test('disappears with its source’s message, and counts in the same quota', async () => {
    const [anns] = [await admit('m1', ann.address), await admit('m2', '@bob@mail.test')]
    await store.records.insert(source, 'words', { message: anns })
    expect(await store.records.insert(derived, [1, 2], { source, quota: most })).toBe(true)
    expect(await store.records.readQuota('agent:shop')).toMatchObject({ records: 2 })
    await store.forgetPerson({ addresses: [ann] })
    expect(await store.records.get(derived)).toBeUndefined()
    expect(await store.records.insert(derived, [1, 2], { source })).toBe(false)
  })

  test('disappears when its source expires', async () => {
    await store.records.insert(source, 'words', { expiresAt: time + dayMs })
    await store.records.insert(derived, [1, 2], { source, expiresAt: time + 9 * dayMs })
    time += dayMs
    expect(await store.records.get(derived)).toBeUndefined()
  })
})

describe('"forget me"', () => {
  const ban = (subject: string) => recordKeyOf(JSON.stringify(['swarm', 'rude', subject]), 'swarm-ban')
  const tie = { person: `email ${ann.address}` }
  const ask = async () => ({ agent: 'shop', addresses: [ann], exceptMessage: await admit('forget me', ann.address) })

  test('keeps the ban of the person without their name, until the operator removes it', async () => {
    for (const subject of ['ann', 'bob']) await store.records.insert(ban(subject), true, subject === 'ann' ? tie : {})
    await store.forgetPerson(await ask())
    expect(await store.records.get(ban('ann'))).toMatchObject({ value: true })
    expect(await store.records.insert(ban('ann'), true, tie)).toBe(false)
    const [, hidden = ''] = await keysOf('swarm-ban')
    expect(JSON.parse(hidden)).toEqual(['swarm', 'rude', expect.stringMatching(/^hmac:[\w-]{43}$/)])
    await store.forgetPerson(await ask())
    expect(await store.records.get(ban('ann'))).toBeDefined()
    await store.forgetPerson({ addresses: [ann] })
    expect(await store.records.get(ban('ann'))).toBeUndefined()
    expect(await store.records.get(ban('bob'))).toBeDefined()
    await store.records.insert(ban('ann'), true, tie)
    await store.forgetPerson(await ask())
    await store.records.remove(ban('ann'))
    expect(await store.records.get(ban('ann'))).toBeUndefined()
  })

  test.each([
    ['operator', 'forbidden', true],
    ['operator', 'direct', false],
    ['sender', 'forbidden', false],
  ] as const)('handles a decision of the %s that says %s, and keeps it: %s', async (approver, policy, isKept) => {
    const about = { agent: 'shop', tool: 'refund', approver, subject: '["issuer","ann"]' } as const
    const recordKey = rememberedRecordKey(about)
    const given = { tool: 'refund', scope: 'always', thread: 1, resolver: 'operator', requirement: 'r' } as const
    const times = { given_at: '2026-01-01T00:00:00.000Z', expires_at: '2026-02-01T00:00:00.000Z' }
    const value = {
      ...given,
      ...times,
      id: recordKey.key,
      approver,
      policy,
      subject: about.subject,
      address: ann.address,
    }
    await store.records.insert(recordKey, value, { ...tie, expiresAt: time + dayMs })
    await store.forgetPerson(await ask())
    const left = (await store.records.get(recordKey))?.value
    expect(left === undefined).toBe(!isKept)
    if (!isKept) return
    expect(rememberedDecisionSchema.parse(left)).toMatchObject({ policy: 'forbidden', tool: 'refund' })
    expect(JSON.stringify(left)).not.toContain('ann')
    const [listed] = await store.listRememberedDecisions({ agent: 'shop', limit: 10 })
    expect(await store.revokeRememberedDecision({ agent: 'shop', id: listed?.id ?? '' })).toBe(true)
    expect(await store.records.get(recordKey)).toBeUndefined()
  })
})

describe('the quota of an owner', () => {
  const kind = 'swarm-shared-state'
  const most = { records: 2, bytes: 20 }
  const put = (key: string, words: string) => store.records.insert(recordKeyOf(key, kind), words, { quota: most })

  test('refuses a record beyond it completely, but always accepts a smaller one', async () => {
    await put('a', 'x'.repeat(10))
    await expect(put('b', 'x'.repeat(10))).rejects.toMatchObject({
      code: 'too_large',
      message: 'Cannot keep: with it there would be more than 20 bytes',
    })
    await put('b', 'x')
    await expect(put('c', '')).rejects.toMatchObject({
      code: 'too_large',
      message: 'Cannot keep: with it there would be more than 2 records',
    })
    const { version = -1 } = (await store.records.get(recordKeyOf('a', kind))) ?? {}
    const swap = (words: string, limit = most) =>
      store.records.swap(recordKeyOf('a', kind), version, words, { quota: limit })
    await expect(swap('x'.repeat(19))).rejects.toMatchObject({ code: 'too_large' })
    expect(await store.records.get(recordKeyOf('a', kind))).toMatchObject({ version, value: 'x'.repeat(10) })
    expect(await swap('x'.repeat(9), { records: 0, bytes: 0 })).toBe(true)
    expect(await store.records.readQuota('agent:shop')).toEqual({ records: 2, bytes: 14 })
  })

  test('counts no other kinds or owners, and shrinks when records disappear', async () => {
    await store.records.insert(recordKeyOf('free', 'pending-action'), 'x'.repeat(100), { quota: most })
    await store.records.insert({ kind, owner: 'agent:other', key: 'a' }, 1)
    await put('a', '')
    expect(await store.records.readQuota('agent:shop')).toEqual({ records: 1, bytes: 2 })
    await store.records.removeOwner('agent:other')
    await store.records.remove(recordKeyOf('a', kind))
    for (const owner of ['agent:shop', 'agent:other'])
      expect(await store.records.readQuota(owner)).toEqual({ records: 0, bytes: 0 })
  })
})
