import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Sender, SenderProfile } from '../message.ts'
import type { AgentAccess, IdentityQuery } from './access.ts'
import { agentAccessShape, hasSubjectPrefix, mayAccess, subjectOf } from './access.ts'
import type { IdentityEvidence } from './identity.ts'
import type { SenderIdentity } from './sender-identity.ts'
import { createSenderIdentity } from './sender-identity.ts'
import { createTransportEvidence } from './transport-evidence.ts'

const member = 'urn:mentionable:auth:slack-workspace-member:v0.1'
const at = '2026-01-01T00:00:00.000Z'
const audience = '@desk@agents.test'

function slack(subject: string, overrides: Partial<IdentityEvidence> = {}): IdentityEvidence {
  const proof = { type: 'signed-attestation', alg: 'EdDSA', kid: 'k1' } as const
  const issuer = 'slack.connector.test'
  return { subject, issuer, method: member, assurance: 'platform', audience, issued_at: at, proof, ...overrides }
}

const token = (subject: string) =>
  createTransportEvidence({
    method: 'a2a-jwt',
    subject,
    issuer: 'https://issuer.test',
    assurance: 'oauth',
    audience,
    issuedAt: at,
  })

const ask = (...identities: IdentityEvidence[]): SenderIdentity => createSenderIdentity({ identities })

describe('hasSubjectPrefix()', () => {
  test.each([
    ['slack:T123/U4', 'slack:T123/', true],
    ['slack:T123/U4', 'slack:T123', true],
    ['slack:T123', 'slack:T123', true],
    ['slack:T123/U4', 'slack:', true],
    ['slack:T123/U4', 'slack', true],
    ['slack:T1234/U4', 'slack:T123/', false],
    ['slack:T1234/U4', 'slack:T123', false],
    ['slack:T123', 'slack:T123/', false],
    ['slackers:T123/U4', 'slack', false],
    ['SLACK:T123/U4', 'slack:', false],
    ['slack:T123/U4', '', false],
  ])('returns for %s under "%s": %s (MN-6.3)', (subject, prefix, expected) => {
    expect(hasSubjectPrefix(subject, prefix)).toBe(expected)
  })
})

describe('context.identity.has() (MN-7.1)', () => {
  test('requires one identity that meets all criteria', () => {
    const identity = ask(slack('slack:T123/U4'), slack('slack:T999/U1', { assurance: 'domain' }))
    expect(identity.has({ method: member, subject_prefix: 'slack:T123/' })).toBe(true)
    expect(identity.has({ issuer: 'slack.connector.test', subject: 'slack:T123/U4', assurance: 'platform' })).toBe(true)
    expect(identity.has({ method: member, subject_prefix: 'slack:T123/', assurance: 'domain' })).toBe(false)
    expect(identity.has({ method: 'urn:other' })).toBe(false)
    expect(identity.list()).toHaveLength(2)
  })

  test('compares whole values, except for the prefix', () => {
    const identity = ask(slack('slack:T123/U45'))
    const evidence = {
      subject: 'slack:T123/U45',
      method: member,
      issuer: 'slack.connector.test',
      assurance: 'platform',
    }
    expect(identity.has(evidence)).toBe(true)
    for (const [name, value] of Object.entries(evidence))
      for (const other of [value.slice(0, -1), value.slice(1), `${value}5`, value.toUpperCase()])
        expect(identity.has({ ...evidence, [name]: other })).toBe(false)
  })

  test('rejects a sender without proof', () => {
    expect(createSenderIdentity({}).has({ method: member })).toBe(false)
    expect(createSenderIdentity({}).list()).toEqual([])
  })

  test('rejects an empty query, an empty value and an unknown criterion', () => {
    const identity = ask(slack('slack:T123/U4'))
    const queries: readonly object[] = [
      {},
      { subject: undefined },
      { method: member, subject: undefined },
      { method: '' },
      { provider: 'slack' },
      { method: member, constructor: 'Object' },
      { method: member, toString: 'x' },
    ]
    for (const query of queries) expect(identity.has(query as unknown as IdentityQuery)).toBe(false)
  })

  test('needs a method or issuer beside a token’s subject', () => {
    const impostor = ask(token('slack:T123/U4'))
    expect(impostor.has({ subject_prefix: 'slack:T123/' })).toBe(false)
    expect(impostor.has({ subject: 'slack:T123/U4' })).toBe(false)
    expect(impostor.has({ subject: 'slack:T123/U4', method: member })).toBe(false)
    expect(impostor.has({ subject: 'slack:T123/U4', issuer: 'https://issuer.test' })).toBe(true)
    expect(ask(slack('slack:T123/U4')).has({ subject_prefix: 'slack:T123/' })).toBe(true)
  })

  test('gives an agent for several people only their common rights (MN-8.4)', () => {
    const query = { method: member, subject_prefix: 'slack:T123/' }
    const delegated = (on_behalf_of: string[]) => slack('slack:T123/BOT', { assurance: 'delegated', on_behalf_of })
    expect(ask(delegated(['slack:T123/U4'])).has(query)).toBe(true)
    expect(ask(delegated(['slack:T123/U4', 'slack:T999/U1'])).has(query)).toBe(false)
    expect(ask(slack('slack:T123/U4'), delegated(['slack:T999/U1'])).has(query)).toBe(false)
    expect(ask(slack('slack:T999/BOT', { on_behalf_of: ['slack:T123/U4'] })).has(query)).toBe(false)
  })

  test('refuses a query for a profile, in the compiler and at runtime (MN-2.2)', () => {
    const profile: SenderProfile = { provider: 'slack', provider_subject: 'slack:T123/U4', username: 'boss' }
    const identity = ask(slack('slack:T123/U4'))
    // @ts-expect-error a profile is context, never authorization
    expect(identity.has(profile)).toBe(false)
    // @ts-expect-error so is each of its members
    expect(identity.has({ username: 'boss' })).toBe(false)
    // @ts-expect-error
    expect(identity.has({ provider_subject: 'slack:T123/U4' })).toBe(false)
    // @ts-expect-error
    expect(identity.has({ method: member, display_name: 'Boss' })).toBe(false)
  })

  test('never reads a profile (MN-2.2)', () => {
    const sender = {
      profile: { provider: 'slack', provider_subject: 'slack:T123/U4', subject: 'slack:T123/U4', method: member },
      identities: [token('bot')],
    } as unknown as Sender
    const identity = createSenderIdentity(sender)
    expect(identity.has({ subject: 'slack:T123/U4' })).toBe(false)
    expect(identity.has({ method: member })).toBe(false)
    expect(mayAccess(sender, { allow: [{ method: member }] })).toBe(false)
  })
})

describe('mayAccess()', () => {
  const team: AgentAccess = { allow: [{ method: member, subject_prefix: 'slack:T123/' }] }

  test('admits everyone without lists, also senders without proof', () => {
    expect(mayAccess({}, {})).toBe(true)
    expect(mayAccess({ identities: [] }, { deny: [{ subject: 'x' }] })).toBe(true)
  })

  test('admits only members of an allow list (MN-2.1)', () => {
    expect(mayAccess({ identities: [slack('slack:T123/U4')] }, team)).toBe(true)
    expect(mayAccess({ identities: [slack('slack:T1234/U4')] }, team)).toBe(false)
    expect(mayAccess({}, team)).toBe(false)
    expect(mayAccess({ identities: [slack('slack:T123/U4')] }, { allow: [] })).toBe(false)
  })

  test('lets a denial of any identity win over every allowance', () => {
    const both: AgentAccess = { ...team, deny: [{ subject: 'slack:T123/U9' }, { issuer: 'bad.test' }] }
    expect(mayAccess({ identities: [slack('slack:T123/U9')] }, both)).toBe(false)
    expect(mayAccess({ identities: [slack('slack:T123/U4'), slack('slack:T123/U9')] }, both)).toBe(false)
    expect(mayAccess({ identities: [slack('slack:T123/U4'), slack('x', { issuer: 'bad.test' })] }, both)).toBe(false)
    expect(mayAccess({ identities: [token('slack:T123/U9')] }, { deny: [{ subject: 'slack:T123/U9' }] })).toBe(false)
  })

  test('requires the right of each person in on_behalf_of, and a denial also covers them (MN-8.4)', () => {
    const delegated = slack('slack:T123/BOT', { assurance: 'delegated', on_behalf_of: ['slack:T999/U1'] })
    expect(mayAccess({ identities: [delegated] }, team)).toBe(false)
    expect(mayAccess({ identities: [slack('slack:T123/U4'), delegated] }, team)).toBe(false)
    const wide: AgentAccess = { allow: [{ method: member }], deny: [{ subject_prefix: 'slack:T999/' }] }
    expect(mayAccess({ identities: [delegated] }, wide)).toBe(false)
    expect(mayAccess({ identities: [{ ...delegated, on_behalf_of: ['slack:T123/U4'] }] }, wide)).toBe(true)
  })
})

describe('claims in a rule', () => {
  const sales: AgentAccess = { allow: [{ method: member, claims: { channel: 'C1' } }] }
  const inChannel = (claims?: Readonly<Record<string, unknown>>) => ({
    identities: [slack('slack:T123/U4', claims && { claims })],
  })

  test('admit the evidence that has them all, and no other', () => {
    expect(mayAccess(inChannel({ channel: 'C1', more: 1 }), sales)).toBe(true)
    for (const claims of [undefined, {}, { channel: 'C2' }, { channel: ['C1'] }, { CHANNEL: 'C1' }])
      expect(mayAccess(inChannel(claims), sales)).toBe(false)
  })

  test('deny by themselves, and admit nobody if they are empty or inherited', () => {
    expect(mayAccess(inChannel({ channel: 'C1' }), { deny: [{ claims: { channel: 'C1' } }] })).toBe(false)
    expect(mayAccess(inChannel({ channel: 'C2' }), { deny: [{ claims: { channel: 'C1' } }] })).toBe(true)
    expect(ask(slack('slack:T123/U4')).has({ method: member, claims: {} })).toBe(false)
    const inherited = { claims: { constructor: 'Object' } } as unknown as IdentityQuery
    expect(ask(slack('slack:T123/U4')).has(inherited)).toBe(false)
  })
})

describe('the keys allow and deny', () => {
  const schema = z.strictObject(agentAccessShape)
  test.each([
    ['a rule that says nothing', { allow: [{}] }, 'needs one of: method, issuer'],
    ['a subject that anybody may claim', { allow: [{ subject: 'slack:T1/U1' }] }, 'needs method or issuer'],
    ['a word that is none of ours', { deny: [{ provider: 'slack' }] }, 'Unrecognized key'],
    ['an empty prefix', { deny: [{ subject_prefix: '' }] }, 'Too small'],
    ['a claim that any issuer may state', { allow: [{ claims: { channel: 'C1' } }] }, 'needs method or issuer'],
    ['claims without a claim', { deny: [{ claims: {} }] }, 'needs a claim'],
  ])('refuse %s', (_, access, problem) => {
    expect(schema.safeParse(access).error?.issues[0]?.message).toContain(problem)
  })

  test('allow a denial with only a subject', () => {
    expect(schema.safeParse({ deny: [{ subject: 'slack:T1/U1' }], allow: [] }).success).toBe(true)
  })
})

describe('subjectOf()', () => {
  const sender = (...identities: IdentityEvidence[]): Sender => ({
    address: '@slack@issuer.test',
    auth_method: 'a2a-jwt',
    verified: true,
    identities: [token('slack'), ...identities],
  })

  test('distinguishes people behind one connector, in every order of their evidence', () => {
    const [alice, bob] = [slack('slack:T123/ALICE'), slack('slack:T123/BOB')]
    expect(subjectOf(sender(alice))).not.toBe(subjectOf(sender(bob)))
    expect(subjectOf(sender(alice))).not.toBe(subjectOf(sender()))
    expect(subjectOf(sender(alice, bob))).toBe(subjectOf(sender(bob, alice)))
    expect(subjectOf(sender(alice))).toBe(subjectOf(sender(alice, alice)))
    const bot = (user: string) => slack('slack:T123/BOT', { assurance: 'delegated', on_behalf_of: [user] })
    expect(subjectOf(sender(bot('slack:T123/ALICE')))).not.toBe(subjectOf(sender(bot('slack:T123/BOB'))))
  })

  test('returns a principal for each kind of credential with one name', () => {
    const issuer = 'https://gateway.test'
    const keys = [undefined, 'client_id', 'api_key', 'chat_token'] as const
    const subjects = keys.map(credential => {
      const proof = { method: 'a2a-oauth', subject: 'ann', issuer, assurance: 'oauth', audience, issuedAt: at } as const
      const identities = [createTransportEvidence({ ...proof, credential })]
      return subjectOf({ address: '@ann@gateway.test', auth_method: 'a2a-oauth', verified: true, identities })
    })
    expect(new Set(subjects).size).toBe(keys.length)
  })

  test('distinguishes a bot for its boss, the boss for the bot, and both together', () => {
    const [bot, boss] = ['slack:T123/BOT', 'slack:T123/BOSS']
    const subjects = [
      sender(slack(bot, { on_behalf_of: [boss] })),
      sender(slack(boss, { on_behalf_of: [bot] })),
      sender(slack(bot), slack(boss)),
    ].map(subjectOf)
    expect(new Set(subjects).size).toBe(3)
    const forBoth = (...people: string[]) => subjectOf(sender(slack(bot, { on_behalf_of: people })))
    expect(forBoth(boss, 'slack:T123/BOB')).toBe(forBoth('slack:T123/BOB', boss, boss))
  })
})
