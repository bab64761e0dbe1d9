import { Rejection, Undeliverable } from '@postern/message'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dropDefaults } from '../../src/client/cards/default-members.ts'
import { makeIssuerKey } from '../setup/issuer.ts'
import type { TestPeer } from '../setup/peer.ts'
import { cardUrl, openAgentPeer } from '../setup/peer.ts'

let peer: TestPeer

beforeEach(async () => {
  peer = await openAgentPeer()
})
afterEach(() => peer.close())

const refusal = (problem: string) => new Undeliverable(`Cannot call agent: ${problem}`)
const countOf = (path: string) => peer.requests.filter(request => request.path === path).length

describe('the gateway refuses a card (A2A-C04)', () => {
  test.each<[string, object, string]>([
    ['of 10 MB', { text: `"${'x'.repeat(10_000_000)}"` }, 'Cannot fetch: answer is too large: more than 262144 bytes'],
    ['that is HTML', { text: '<!doctype html>' }, 'Cannot call agent: its card is not valid JSON'],
    ['that is an array', { json: [] }, 'Cannot call agent: its card is not an object'],
    ['nested without end', { text: '['.repeat(5_000) }, 'Cannot call agent: its card is not valid JSON'],
    [
      'that is elsewhere',
      { status: 302, headers: { location: 'https://elsewhere.test/card' } },
      'Cannot call agent: its card was answered with 302 at https://peer.test/card, a redirect to https://elsewhere.test/card that is not followed',
    ],
    [
      'that is not there',
      { status: 404 },
      'Cannot call agent: its card was answered with 404 at https://peer.test/card',
    ],
    [
      'without an interface',
      { json: { name: 'x' } },
      'Cannot call agent: its card names no A2A version and binding that we support',
    ],
  ])('%s', async (_, answer, message) => {
    peer.pages.set('/card', () => answer)
    await expect(peer.call()).rejects.toThrow(new Undeliverable(message))
    expect(countOf('/rpc')).toBe(0)
  })

  test('whose host fails, and asks again later', async () => {
    peer.pages.set('/card', () => ({ status: 503, headers: { 'retry-after': '7' } }))
    await expect(peer.call()).rejects.toMatchObject({ name: 'Unavailable', retryAfter: 7 })
  })

  test('whose jku leads to another origin, without a fetch there', async () => {
    await peer.sign({ jku: 'https://elsewhere.test/keys' })
    await expect(peer.call()).rejects.toThrow(refusal('keys of its card are on another origin'))
    expect(peer.requests.map(({ host }) => host)).toEqual(['peer.test'])
  })

  test('whose jku is the card itself', async () => {
    await peer.sign({ jku: cardUrl })
    await expect(peer.call()).rejects.toThrow(refusal('its key set holds no keys'))
    expect(countOf('/card')).toBe(2)
  })
})

describe('an interface of a card (A2A-C05)', () => {
  const at = (url: string) => {
    peer.card.supportedInterfaces[0].url = url
  }

  test('on another origin needs the operator’s permission', async () => {
    at('https://elsewhere.test/rpc')
    await expect(peer.call()).rejects.toThrow(refusal('its interface is on another origin than its card'))
    const client = peer.clientWith({ client: { allowed_origins: ['https://elsewhere.test'] } })
    await client.call(cardUrl, [], { callerName: 'desk' })
    expect(peer.requests.at(-1)?.host).toBe('elsewhere.test')
  })

  test.each([
    ['http://127.0.0.1/rpc', 'its interface is on another origin than its card'],
    ['http://peer.test/rpc', 'its interface is on another origin than its card'],
    ['https://peer.test/rpc?x=1', 'its card names no usable address'],
    ['file:///etc/passwd', 'its interface is on another origin than its card'],
    ['rpc', 'its card names no usable address'],
  ])('at %s is invalid', async (url, problem) => {
    at(url)
    await expect(peer.call()).rejects.toThrow(refusal(problem))
  })

  test('on a private address stays behind the network guard, with or without permission', async () => {
    at('https://10.0.0.1/rpc')
    const client = peer.clientWith({ client: { allowed_origins: ['https://10.0.0.1'] } })
    await expect(client.call(cardUrl, [], { callerName: 'desk' })).rejects.toThrow(
      'Cannot fetch: address is not public',
    )
  })

  const interfaceWithoutVersion = { url: 'https://peer.test/rpc', protocolBinding: 'JSONRPC' }
  const members03 = { protocolVersion: '0.3.0', url: 'https://peer.test/old', preferredTransport: 'JSONRPC' }

  test.each<[string, object]>([
    ['no version', {}],
    ['no version, beside members of 0.3', members03],
  ])('with %s is one of 1.0, as in a2a-python', async (_, overrides) => {
    peer.card = { ...peer.card, ...overrides, supportedInterfaces: [interfaceWithoutVersion] }
    expect((await peer.call()).status).toBe('completed')
    expect(peer.requests.at(-1)).toMatchObject({ path: '/rpc', headers: { 'a2a-version': '1.0' } })
  })

  test('without a version has a lower rank than one of a version that we support', async () => {
    const interfaceWithVersion = { url: 'https://peer.test/named', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }
    peer.card.supportedInterfaces = [interfaceWithoutVersion, interfaceWithVersion]
    await expect(peer.call()).rejects.toThrow('it answered with 404')
    expect(peer.requests.at(-1)?.path).toBe('/named')
  })

  test('comes from the members of 0.3 if we speak no other', async () => {
    const grpc = { url: 'peer.test:443', protocolBinding: 'GRPC', protocolVersion: '1.0' }
    peer.card = { ...peer.card, ...members03, supportedInterfaces: [grpc] }
    await expect(peer.call()).rejects.toThrow('it answered with 404')
    expect(peer.requests.at(-1)?.path).toBe('/old')
  })

  test('is the first supported one, and the call repeats its tenant', async () => {
    peer.card.supportedInterfaces = [
      { url: 'https://peer.test:443', protocolBinding: 'GRPC', protocolVersion: '1.0' },
      { url: 'https://peer.test', protocolBinding: { toString: 1 }, protocolVersion: { toString: 1 } },
      { url: 'https://peer.test/old', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      { url: 'https://peer.test/rest/', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: 'blue' },
    ]
    peer.pages.set('/rest/blue/message:send', ({ body }) => ({
      json: { message: { messageId: 'a', role: 'ROLE_AGENT', parts: body.message.parts } },
    }))
    expect((await peer.call('echo')).parts).toEqual([{ kind: 'text', mime: 'text/plain', content: 'echo' }])
  })
})

describe('a signed card (A2A-C06)', () => {
  test('with a valid signature counts, and the result names the key', async () => {
    await peer.sign()
    expect((await peer.call()).source).toEqual({ address: cardUrl, card: cardUrl, signedBy: 'peer-key' })
  })

  test('may have a signature without its defaults, as in some implementations', async () => {
    const card = peer.card
    peer.card = dropDefaults(card)
    await peer.sign()
    peer.card = { ...card, signatures: peer.card.signatures }
    expect((await peer.call()).source.signedBy).toBe('peer-key')
  })

  test.each<[string, object, object, object]>([
    [
      'without defaults, but for those in the params of an extension',
      {},
      { off: false, none: 0, empty: [], text: '' },
      { securityRequirements: [{ schemes: { bearer: {} } }] },
    ],
    ['without what is empty, and with what is false', { streaming: false }, { off: false, none: 0 }, {}],
  ])('may have a signature %s', async (_, streaming, params, overrides) => {
    const extension = { uri: 'urn:x', description: '', params: { off: false, none: 0, empty: [], text: '' } }
    const { skills, securityRequirements, ...card } = peer.card
    peer.card = { ...card, ...overrides, capabilities: { ...streaming, extensions: [{ uri: 'urn:x', params }] } }
    await peer.sign()
    const capabilities = { ...streaming, extensions: [extension] }
    peer.card = { ...card, skills, securityRequirements, capabilities, signatures: peer.card.signatures }
    expect((await peer.call()).source.signedBy).toBe('peer-key')
  })

  test('may have unsigned members of 0.3', async () => {
    await peer.sign()
    Object.assign(peer.card, { url: 'https://peer.test/old', preferredTransport: 'JSONRPC', protocolVersion: '0.3.0' })
    expect((await peer.call()).source.signedBy).toBe('peer-key')
    expect(peer.requests[0]?.headers['a2a-version']).toBe('1.0')
  })

  test('needs only one valid signature among others (rotation)', async () => {
    await peer.sign({}, await makeIssuerKey('forgotten'))
    const [old] = peer.card.signatures
    await peer.sign()
    peer.card.signatures = [old, ...peer.card.signatures]
    expect((await peer.call()).source.signedBy).toBe('peer-key')
  })

  test.each<[string, () => Promise<void> | void]>([
    [
      'wrong signature',
      () => {
        peer.card.name = 'Evil'
      },
    ],
    ['kid unknown', async () => peer.sign({ kid: 'unknown' })],
    ['kid missing', async () => peer.sign({ kid: undefined })],
    ['key of somebody else', async () => peer.sign({}, await makeIssuerKey('peer-key'))],
    [
      'alg that the key is not for',
      () => {
        peer.keys = [{ ...peer.key.publicJwk, alg: 'ES384' }]
      },
    ],
    [
      'key expired',
      () => {
        peer.keys = [{ ...peer.key.publicJwk, exp: Math.floor(peer.system.now() / 1000) - 1 }]
      },
    ],
    [
      'key for encryption',
      () => {
        peer.keys = [{ ...peer.key.publicJwk, use: 'enc' }]
      },
    ],
    [
      'half of a character in a member',
      () => {
        peer.card.description = '\ud800'
      },
    ],
    [
      'no keys',
      () => {
        peer.keys = []
      },
    ],
    [
      'header that is none',
      () => {
        peer.card.signatures[0].protected = 'e30'
      },
    ],
    [
      'signature that is none',
      () => {
        peer.card.signatures = [5]
      },
    ],
  ])('%s is neither used nor cached', async (_, spoil) => {
    await peer.sign()
    await spoil()
    await expect(peer.call()).rejects.toThrow(refusal('no signature of its card is valid'))
    await expect(peer.call()).rejects.toThrow(refusal('no signature of its card is valid'))
    expect([countOf('/card'), countOf('/rpc')]).toEqual([2, 0])
  })

  test('with an HMAC of the public key gets a refusal', async () => {
    await peer.sign()
    const head = Buffer.from(JSON.stringify({ alg: 'HS256', kid: 'peer-key' })).toString('base64url')
    peer.card.signatures = [{ protected: head, signature: 'AAAA' }]
    await expect(peer.call()).rejects.toThrow(refusal('no signature of its card is valid'))
  })

  test('needs one fetch for many simultaneous callers', async () => {
    await peer.sign()
    await Promise.all(Array.from({ length: 5 }, () => peer.call()))
    expect([countOf('/card'), countOf('/.well-known/jwks.json'), countOf('/rpc')]).toEqual([1, 1, 5])
  })

  test('does not hold callers that give up if its host never answers', async () => {
    peer.pages.set('/card', () => ({ write: () => undefined }))
    const controller = new AbortController()
    const call = peer.call('x', { signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
  })

  test('stays in the cache for a while if it is valid', async () => {
    await peer.sign()
    await peer.call()
    await peer.call()
    expect(countOf('/card')).toBe(1)
    peer.system.advance(5 * 60_000)
    await peer.call()
    expect(countOf('/card')).toBe(2)
  })
})

test('the gateway calls a host whose signature disappeared only after a person agrees (A2A-C07)', async () => {
  await peer.sign()
  await peer.call()
  delete peer.card.signatures
  const restartedClient = peer.clientWith({})
  const parts = [{ kind: 'text', mime: 'text/plain', content: 'hello' }] as const
  const problem = 'its card was signed before and is not now; a2a.client.unsigned_hosts would allow it'
  await expect(restartedClient.call(cardUrl, [...parts], { callerName: 'desk' })).rejects.toThrow(refusal(problem))
  const agreedClient = peer.clientWith({ client: { unsigned_hosts: ['peer.test'] } })
  expect((await agreedClient.call(cardUrl, [...parts], { callerName: 'desk' })).source).toEqual({
    address: cardUrl,
    card: cardUrl,
  })
})

test.each([undefined, null, []])('a card with the signatures %j is unsigned', async signatures => {
  peer.card.signatures = signatures as never
  const agreedClient = peer.clientWith({ client: { unsigned_hosts: ['peer.test'] } })
  expect((await agreedClient.call(cardUrl, [], { callerName: 'desk' })).source).toEqual({
    address: cardUrl,
    card: cardUrl,
  })
})

describe('an agent’s address', () => {
  const subject = 'acct:robot@peer.test'
  const link = {
    rel: 'https://mentionable.dev/ns/rel/agent-card',
    href: 'https://peer.test/.well-known/agent-card/robot',
  }
  const mentionable = { address: '@robot@peer.test', name: 'Robot', a2a: { card_url: cardUrl } }
  const publish = (jrd: object, page: object = mentionable) => {
    peer.pages.set('/.well-known/webfinger', () => ({ json: jrd }))
    peer.pages.set('/.well-known/agent-card/robot', () => ({ json: page }))
  }
  const call = () => peer.client.call('@Robot@peer.test', [], { callerName: 'desk' })

  test('leads by WebFinger and the Mentionable card to the A2A card', async () => {
    publish({ subject, links: [{ rel: 'self', href: 'https://peer.test/x' }, link] })
    await peer.sign()
    expect((await call()).source).toEqual({ address: '@Robot@peer.test', card: cardUrl, signedBy: 'peer-key' })
  })

  test('may lead by the old rel, directly to an A2A card', async () => {
    publish({ subject, links: [{ rel: 'https://mentionable.dev/agent-card', href: cardUrl }] })
    expect((await call()).source.card).toBe(cardUrl)
  })

  test('leads to the interface of the Mentionable card without an A2A card', async () => {
    const a2a = { endpoint: 'https://peer.test/rpc', transport: 'https+jsonrpc', auth: { scheme: 'none' } }
    publish({ subject, links: [link] }, { ...mentionable, a2a })
    expect((await call()).status).toBe('completed')
    expect(peer.requests.at(-1)?.headers.authorization).toBeUndefined()
  })

  test.each<[string, object, object, string]>([
    [
      'of somebody else',
      { subject: 'acct:other@peer.test', links: [link] },
      mentionable,
      'the subject of WebFinger is another account',
    ],
    ['without a link', { subject, links: [] }, mentionable, 'WebFinger names no agent card'],
    [
      'with a link that is not https',
      { subject, links: [{ ...link, href: 'http://peer.test/c' }] },
      mentionable,
      'WebFinger names no agent card',
    ],
    [
      'whose card is another’s',
      { subject, links: [link] },
      { ...mentionable, address: '@x@peer.test' },
      'its card has the address of another agent',
    ],
    [
      'whose A2A card is elsewhere',
      { subject, links: [link] },
      { ...mentionable, a2a: { card_url: 'https://elsewhere.test/card' } },
      'its A2A card is on another origin',
    ],
    [
      'with a transport we do not speak',
      { subject, links: [link] },
      { ...mentionable, a2a: { endpoint: 'https://peer.test/x', transport: 'https+sse' } },
      'its card names no A2A interface that we support',
    ],
  ])('gets a refusal %s', async (_, jrd, page, problem) => {
    publish(jrd, page)
    await expect(call()).rejects.toThrow(refusal(problem))
  })

  test.each(['robot', '@robot', '@robot@localhost', '@robot@10.0.0.1', ''])('is invalid as "%s"', async address => {
    await expect(peer.client.call(address, [], { callerName: 'desk' })).rejects.toThrow(
      new Rejection('malformed', 'Cannot read address: expected "@name@domain.tld"'),
    )
  })
})
