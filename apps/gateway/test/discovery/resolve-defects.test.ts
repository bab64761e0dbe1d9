import { createGuardedFetch } from '@postern/http'
import { resolveAddress } from '@postern/operator'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createCardReader } from '../../src/compose/card-reader.ts'
import { knownExtensionUris } from '../../src/discovery/extensions.ts'
import type { FakeAgent, FakeAnswer } from '../setup/open-fake-host.ts'
import { describeFakeAgent, openFakeHost, toPages, weakKeyPem } from '../setup/open-fake-host.ts'

// These tests use a foreign server that is right in everything except the one defect that each row names.

let agent: FakeAgent
let pages: Record<string, FakeAnswer>
let otherHost: Record<string, FakeAnswer>
let zone: Record<string, unknown>
let host: Awaited<ReturnType<typeof openFakeHost>>
let fetch: ReturnType<typeof createGuardedFetch>

beforeAll(async () => {
  host = await openFakeHost(name => (name === 'peer.test' ? { ...toPages(agent), ...pages } : otherHost))
  const loopback = { 'peer.test': host.port, 'other.test': host.port }
  fetch = createGuardedFetch({ loopback, userAgent: 'test' })
})
afterAll(async () => {
  fetch.close()
  await host.close()
})
beforeEach(() => {
  agent = describeFakeAgent()
  pages = {}
  otherHost = {}
  zone = {
    'peer.test MX': [{ exchange: 'mx.peer.test', priority: 10 }],
    'peer.test TXT': [['v=spf1 mx -all']],
    '_dmarc.peer.test TXT': [['v=DMARC1; p=reject']],
    '_domainkey.peer.test TXT': 'ENODATA',
  }
})

async function resolveDns(name: string, type: string): Promise<unknown> {
  const answer = zone[`${name} ${type}`] ?? 'ENOTFOUND'
  if (typeof answer === 'string') throw Object.assign(new Error(answer), { code: answer })
  return answer
}

const resolve = (address = '@bot@peer.test') =>
  resolveAddress(address, {
    ...{ fetch, resolveDns, now: Date.now, extensionUris: knownExtensionUris },
    cards: createCardReader({ fetch, now: Date.now }),
  })
const faultsOf = async (address?: string) =>
  (await resolve(address)).findings
    .filter(({ severity }) => severity !== 'ok')
    .map(({ id, severity }) => `${severity} ${id}`)

/** The warnings about features that a plain Mentionable node does not need. */
const expected = ['warning a2a.agent_signature', 'warning a2a.host_card']

test('the report of a correct server only mentions optional members that it omits', async () => {
  const { outcome, found, address } = await resolve()
  expect(await faultsOf()).toEqual(expected)
  expect({ outcome, found, address }).toEqual({
    outcome: 'ok',
    address: '@bot@peer.test',
    found: {
      actor: 'https://peer.test/u/bot',
      inbox: 'https://peer.test/u/bot/inbox',
      agent_card: 'https://peer.test/.well-known/agent-card/bot',
      a2a: 'https://peer.test/a2a',
      profile_page: 'https://peer.test/bot',
      mail: 'bot@peer.test',
    },
  })
})

const webfinger = '/.well-known/webfinger'
const link = (index: number) => agent.jrd.links[index] as Record<string, string>
const a2a = () => agent.card.a2a as Record<string, unknown>
const legacy = 'https://mentionable.dev/agent-card'

describe('a server with one defect gets one finding', () => {
  test.each<[string, () => unknown, string]>([
    [
      'MN-1.3: subject of somebody else',
      () => Object.assign(agent.jrd, { subject: 'acct:eve@peer.test' }),
      'error webfinger.subject',
    ],
    ['MN-1.3: plain JSON', () => (pages[webfinger] = { body: agent.jrd }), 'warning webfinger.type'],
    [
      'MN-1.3: served as HTML',
      () => (pages[webfinger] = { type: 'text/html', body: agent.jrd }),
      'error webfinger.type',
    ],
    ['MN-1.3: no aliases', () => Reflect.deleteProperty(agent.jrd, 'aliases'), 'warning webfinger.aliases'],
    ['MN-1.3: links in another order', () => agent.jrd.links.reverse(), 'warning webfinger.order'],
    ['MN-1.3: the legacy relation', () => Object.assign(link(1), { rel: legacy }), 'warning webfinger.legacy_rel'],
    ['MN-1.3: a link of another type', () => Object.assign(link(2), { type: 'text/plain' }), 'warning webfinger.types'],
    ['MN-1.3: mail elsewhere', () => Object.assign(link(3), { href: 'mailto:else@peer.test' }), 'warning mail.address'],
    ['MN-1.4: card of another', () => Object.assign(agent.card, { address: '@eve@peer.test' }), 'error card.address'],
    [
      'MN-1.4: other version',
      () => Object.assign(agent.card, { protocol_version: '1.0' }),
      'error card.protocol_version',
    ],
    ['MN-1.4: no name', () => Object.assign(agent.card, { name: '' }), 'error card.names'],
    ['MN-1.4: no semantic version', () => Object.assign(agent.card, { version: '1' }), 'warning card.names'],
    [
      'MN-1.4: endpoint without TLS',
      () => Object.assign(a2a(), { endpoint: 'http://peer.test/a2a' }),
      'error card.endpoint',
    ],
    ['MN-1.4: unknown transport', () => Object.assign(a2a(), { transport: 'grpc' }), 'error card.transport'],
    ['MN-1.4: no auth', () => Object.assign(a2a(), { auth: undefined }), 'error card.auth'],
    ['MN-1.4: OAuth without issuer', () => Object.assign(a2a(), { auth: { scheme: 'oauth2' } }), 'error card.auth'],
    ['MN-1.4: no modes', () => Object.assign(a2a(), { input_modes: undefined }), 'warning card.modes'],
    [
      'MN-1.6: extension without https',
      () => Object.assign(a2a(), { capabilities: { extensions: [{ uri: 'urn:x' }] } }),
      'error card.extensions',
    ],
    [
      'MN-1.6: extension by its old name',
      () =>
        Object.assign(a2a(), { capabilities: { extensions: [{ uri: 'https://mentionable.dev/spec/policy/v0.1' }] } }),
      'warning card.extensions',
    ],
    ['MN-1.4: card not JSON', () => (pages['/.well-known/agent-card/bot'] = { body: 'no' }), 'error card.answer'],
    [
      'MN-1.4: card redirects',
      () => (pages['/.well-known/agent-card/bot'] = { status: 302, location: '/c' }),
      'error card.answer',
    ],
    [
      'MN-1.4: card of another type',
      () => (pages['/.well-known/agent-card/bot'] = { type: 'text/plain', body: agent.card }),
      'warning card.type',
    ],
    [
      'ActivityPub §3.1: actor with another id',
      () => Object.assign(agent.actor, { id: 'https://peer.test/u/x' }),
      'error actor.id',
    ],
    ['an actor that is none', () => Object.assign(agent.actor, { type: 'Note' }), 'error actor.type'],
    [
      'MN-13.3: another preferredUsername',
      () => Object.assign(agent.actor, { preferredUsername: 'eve' }),
      'error actor.username',
    ],
    ['no inbox', () => Object.assign(agent.actor, { inbox: undefined }), 'error actor.inbox'],
    ['no key', () => Object.assign(agent.actor, { publicKey: undefined }), 'error actor.key'],
    [
      'a weak key',
      () => Object.assign(agent.actor.publicKey as object, { publicKeyPem: weakKeyPem }),
      'error actor.key',
    ],
    [
      'a key of another',
      () => Object.assign(agent.actor.publicKey as object, { owner: 'https://x.test/' }),
      'error actor.key',
    ],
    ['an actor behind signatures', () => (pages['/u/bot'] = { status: 401 }), 'warning actor.answer'],
    ['an actor that is not there', () => (pages['/u/bot'] = { status: 404 }), 'error actor.answer'],
    ['MN-1.5: page without data', () => Object.assign(agent, { page: '<p>' }), 'warning page.json_ld'],
    ['MN-1.5: no page', () => (pages['/bot'] = { status: 500 }), 'warning page.answer'],
    [
      'MN-1.5: no directory',
      () => (pages['/.well-known/mentionable-agents.json'] = { status: 404 }),
      'warning directory.answer',
    ],
    [
      'MN-1.5: directory without it',
      () => Object.assign(agent.directory, { contactPoint: [] }),
      'warning directory.entry',
    ],
    ['RFC 5321: null MX', () => (zone['peer.test MX'] = [{ exchange: '', priority: 0 }]), 'error mail.mx'],
    ['RFC 7208: no SPF', () => (zone['peer.test TXT'] = 'ENODATA'), 'error mail.spf'],
    ['RFC 9989: no DMARC', () => Reflect.deleteProperty(zone, '_dmarc.peer.test TXT'), 'error mail.dmarc'],
    ['RFC 6376: no DKIM', () => Reflect.deleteProperty(zone, '_domainkey.peer.test TXT'), 'warning mail.dkim'],
    ['DNS that does not answer', () => (zone['peer.test MX'] = 'ESERVFAIL'), 'warning mail.mx'],
  ])('%s', async (_, damage, finding) => {
    damage()
    const faults = await faultsOf()
    expect(faults).toContain(finding)
    // The A2A check has its own finding for the defect, and no other check has one.
    expect(faults.filter(fault => !fault.includes('a2a.') && fault !== finding)).toEqual([])
  })

  test('every finding except a success says how to fix it', async () => {
    Object.assign(agent.card, { address: 'x', protocol_version: 2, a2a: undefined })
    Object.assign(agent.actor, { id: 'x', inbox: 1, publicKey: 3 })
    const { outcome, findings } = await resolve()
    expect(outcome).toBe('faulty')
    for (const { severity, fix } of findings) if (severity !== 'ok') expect(fix).toMatch(/\w/)
  })
})

describe('redirects of WebFinger (MN-1.3)', () => {
  test('the command follows one redirect to https on another host, and checks the subject', async () => {
    pages[webfinger] = { status: 302, location: `https://other.test${webfinger}?resource=x` }
    otherHost[webfinger] = { type: 'application/jrd+json', body: agent.jrd }
    expect(await faultsOf()).toEqual(expected)
    otherHost[webfinger] = { type: 'application/jrd+json', body: { ...agent.jrd, subject: 'acct:bot@other.test' } }
    expect(await faultsOf()).toContain('error webfinger.subject')
  })

  test.each<[string, FakeAnswer, string]>([
    ['a second one', { status: 302, location: 'https://peer.test/x' }, 'it redirects more than once'],
    ['http', { status: 302, location: 'http://other.test/' }, 'it redirects to an address without https'],
    ['a private address', { status: 302, location: 'https://10.0.0.1/' }, 'Cannot fetch: address is not public'],
    ['nothing', { status: 302, location: 'https://' }, 'it redirects to an invalid address'],
  ])('the command refuses %s', async (label, answer, reason) => {
    pages[webfinger] = label === 'a second one' ? { status: 302, location: `https://other.test${webfinger}` } : answer
    otherHost[webfinger] = answer
    const { outcome, findings } = await resolve()
    expect(outcome).toBe('unresolved')
    expect(findings.find(({ id }) => id === 'webfinger.answer')).toMatchObject({
      severity: 'error',
      message: `cannot fetch WebFinger: ${reason}`,
    })
  })
})

test('the report names links without https, which the command does not follow (MN-1.3)', async () => {
  link(1).href = 'http://peer.test/.well-known/agent-card/bot'
  link(0).href = 'http://peer.test/u/bot'
  const { findings, outcome } = await resolve()
  expect(outcome).toBe('faulty')
  expect(findings.find(({ id }) => id === 'webfinger.https')?.message).toBe(
    'not https: "http://peer.test/u/bot", "http://peer.test/.well-known/agent-card/bot"',
  )
  expect(findings.some(({ id }) => /^(card|actor)\./.test(id))).toBe(false)
})

test.each([
  ['nobody there', { status: 404 }, 'WebFinger answers 404 at'],
  ['no JSON', { type: 'application/jrd+json', body: '<html>' }, 'is not a JSON object'],
])('the command cannot resolve %s', async (_, answer, message) => {
  pages[webfinger] = answer
  const { outcome, findings } = await resolve()
  expect(outcome).toBe('unresolved')
  expect(findings.find(({ id }) => id === 'webfinger.answer')?.message).toContain(message)
})

test('the command sends no request to a private address', async () => {
  const { outcome, findings } = await resolve('@bot@printer.local')
  expect(outcome).toBe('unresolved')
  expect(findings.find(({ id }) => id === 'webfinger.answer')?.message).toBe(
    'cannot fetch WebFinger: Cannot fetch: address is not public',
  )
})

test('the command refuses an invalid address with the reason (MN-1.2)', async () => {
  expect(await resolve('@bot@localhost')).toMatchObject({
    outcome: 'unresolved',
    findings: [
      { id: 'address.spelling', section: '§1.2', message: 'Cannot read address: the domain has only one label' },
    ],
  })
})

test('the report requires that an actor on another host names the same account (MN-13.3)', async () => {
  const actor = { ...agent.actor, id: 'https://other.test/u/bot', inbox: 'https://other.test/inbox' }
  Object.assign(actor, { publicKey: { ...(actor as { publicKey?: object }).publicKey, owner: actor.id } })
  otherHost['/u/bot'] = { type: 'application/activity+json', body: actor }
  link(0).href = actor.id
  expect(await faultsOf()).toContain('error actor.back_link')
  otherHost[webfinger] = { type: 'application/jrd+json', body: agent.jrd }
  expect(await faultsOf()).toEqual(expected)
})

test('the report recognizes a fediverse account without an agent card', async () => {
  agent.jrd.links = [link(0)]
  const { outcome } = await resolve()
  expect(outcome).toBe('ok')
  expect(await faultsOf()).toEqual(['warning webfinger.card'])
})
