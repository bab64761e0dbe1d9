import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { testKey } from '../keys.ts'
import type { PostAnswer } from '../person.ts'
import { composeNote, postActivity, settlePerson, signHeaders } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// The numbers in the titles are rows of the ActivityPub bug history.

let stage: Stage

beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.close())

const hour = 3_600_000
const target = '(request-target)'
const secondsNow = () => Math.floor(Date.now() / 1_000)
const dateAt = (shift: number) => new Date(Date.now() + shift).toUTCString()
const sha256 = (text: string) => createHash('sha256').update(text).digest('base64')

async function expectRefused(answer: Promise<PostAnswer>, code: string, detail: RegExp) {
  expect(await answer).toMatchObject({ status: 401, code, detail: expect.stringMatching(detail) })
  expect(await stage.listStoredMessages()).toEqual([])
  expect(stage.peer.requests.filter(({ method }) => method === 'POST')).toEqual([])
}

test('the gateway answers an unsigned request with 401 without sending any request (AP-13)', async () => {
  const { gateway, peer, alice } = stage
  await expectRefused(
    postActivity(gateway, alice, composeNote(alice), { isUnsigned: true }),
    'unsigned',
    /no Signature header/,
  )
  expect(peer.requests).toEqual([])
})

test.each([
  ['only date', ['date'], 'target'],
  ['only host', ['host'], 'target'],
  ['no target', ['host', 'date', 'digest'], 'target'],
  ['no host', [target, 'date', 'digest'], 'host'],
  ['no digest', [target, 'host', 'date'], 'digest'],
  ['no time', [target, 'host', 'digest'], 'date'],
])('the gateway refuses a signature that covers %s (AP-14)', async (_, covered, missing) => {
  const { gateway, alice } = stage
  const posted = postActivity(gateway, alice, composeNote(alice), { covered })
  await expectRefused(posted, 'signature_invalid', new RegExp(`does not cover .*${missing}|covers neither ${missing}`))
})

test('the gateway refuses a signature without a `headers` parameter (AP-14)', async () => {
  const { gateway, alice } = stage
  const posted = postActivity(gateway, alice, composeNote(alice), { parameters: { headers: undefined } })
  await expectRefused(posted, 'signature_invalid', /does not cover/)
})

describe('the gateway refuses a digest (AP-15)', () => {
  test.each([
    ['is missing', ''],
    ['is of another body', `SHA-256=${sha256('another body')}`],
    ['uses an algorithm we do not take', 'MD5=1B2M2Y8AsgTpgAmY7PhCfg=='],
    ['is not base64', 'SHA-256=not a digest'],
  ])('that %s', async (_, digest) => {
    const { gateway, alice } = stage
    await expectRefused(postActivity(gateway, alice, composeNote(alice), { digest }), 'signature_invalid', /digest/)
  })

  test.each([
    ['right first', (right: string) => `${right},SHA-256=${sha256('x')}`],
    ['right last', (right: string) => `SHA-256=${sha256('x')}, ${right}`],
    ['other algorithm', (right: string) => `${right},SHA-512=AAAA`],
  ])('if one of two is wrong: %s', async (_, both) => {
    const { gateway, alice } = stage
    const body = JSON.stringify(composeNote(alice))
    const digest = both(`SHA-256=${sha256(body)}`)
    await expectRefused(
      postActivity(gateway, alice, body, { digest }),
      'signature_invalid',
      /digest is not that of the body/,
    )
  })

  test('that does not match the body', async () => {
    const { gateway, alice } = stage
    const body = JSON.stringify(composeNote(alice))
    const sentBody = body.replace('Hello', 'Hullo')
    await expectRefused(
      postActivity(gateway, alice, body, { sentBody }),
      'signature_invalid',
      /digest is not that of the body/,
    )
  })

  test('that the signature does not cover', async () => {
    const { gateway, alice } = stage
    const body = JSON.stringify(composeNote(alice))
    const posted = postActivity(gateway, alice, body, { covered: [target, 'host', 'date'] })
    await expectRefused(posted, 'signature_invalid', /does not cover digest/)
  })
})

test.each(['sha-256', 'SHA-256', 'Sha-256'])(
  'the gateway accepts the digest algorithm %s in any case (AP-16)',
  async name => {
    const { gateway, alice } = stage
    const body = JSON.stringify(composeNote(alice))
    expect(await postActivity(gateway, alice, body, { digest: `${name}=${sha256(body)}` })).toMatchObject({
      status: 202,
    })
  },
)

test.each(['yesterday', '', '2026', 'Thu, 99 Zed 2026 00:00:00 GMT'])(
  'the gateway refuses a signed date that is "%s" (AP-17)',
  async date => {
    const { gateway, alice } = stage
    await expectRefused(
      postActivity(gateway, alice, composeNote(alice), { date }),
      'signature_invalid',
      /Date is signed but/,
    )
  },
)

test.each([
  ['61 min old', -61 * 60_000, /before the accepted window/],
  ['13 h old', -13 * hour, /before the accepted window/],
  ['6 min ahead', 6 * 60_000, /in the future/],
  ['100 min ahead', 100 * 60_000, /in the future/],
])('the gateway refuses a signature %s (AP-18)', async (_, shift, detail) => {
  const { gateway, alice } = stage
  await expectRefused(postActivity(gateway, alice, composeNote(alice), { date: dateAt(shift) }), 'expired', detail)
})

test.each([
  ['6 min ahead', 6 * 60_000, /in the future/],
  ['61 min old', -61 * 60_000, /before the accepted window/],
])(
  'the gateway refuses a signature whose (created) is %s, though its Date is right (AP-18)',
  async (_, shift, detail) => {
    const { gateway, alice } = stage
    const created = Math.floor((gateway.system.now() + shift) / 1_000)
    const covered = [target, 'host', 'date', 'digest', '(created)']
    const posted = postActivity(gateway, alice, composeNote(alice), {
      covered,
      parameters: { algorithm: 'hs2019', created },
    })
    await expectRefused(posted, 'expired', detail)
  },
)

test.each([-59 * 60_000, 4 * 60_000])(
  'the gateway accepts a signature by a clock that is %s ms away (AP-18)',
  async shift => {
    const { gateway, alice } = stage
    expect(await postActivity(gateway, alice, composeNote(alice), { date: dateAt(shift) })).toMatchObject({
      status: 202,
    })
  },
)

test('the gateway uses the configured time window (AP-18)', async () => {
  const wide = await openStage({ config: { date_window: '12h' } })
  try {
    const { gateway, alice } = wide
    expect(await postActivity(gateway, alice, composeNote(alice), { date: dateAt(-11 * hour) })).toMatchObject({
      status: 202,
    })
    expect(await postActivity(gateway, alice, composeNote(alice), { date: dateAt(-13 * hour) })).toMatchObject({
      status: 401,
    })
  } finally {
    await wide.close()
  }
})

describe('(created) and (expires) (AP-19)', () => {
  const covered = [target, '(created)', 'host', 'digest']
  const algorithm = 'hs2019'

  test('allow a signature with only (created)', async () => {
    const { gateway, alice } = stage
    const parameters = { algorithm, created: secondsNow() }
    expect(await postActivity(gateway, alice, composeNote(alice), { covered, parameters })).toMatchObject({
      status: 202,
    })
  })

  test.each([
    ['without its parameter', { algorithm }, 'signature_invalid', /\(created\) is signed but cannot be read/],
    ['that is a day old', { algorithm, created: secondsNow() - 86_400 }, 'expired', /before the accepted window/],
    ['that is no number', { algorithm, created: 'soon' }, 'signature_invalid', /not a whole number of seconds/],
    ['under the name rsa-sha256', { algorithm: 'rsa-sha256', created: secondsNow() }, 'signature_invalid', /not there/],
  ])('the gateway refuses (created) %s', async (_, parameters, code, detail) => {
    const { gateway, alice } = stage
    await expectRefused(postActivity(gateway, alice, composeNote(alice), { covered, parameters }), code, detail)
  })

  test.each([
    ['signed', [...covered, '(expires)']],
    ['not signed', covered],
  ])('allow a past end, %s', async (_, list) => {
    const { gateway, alice } = stage
    const parameters = { algorithm, created: secondsNow(), expires: secondsNow() - 1 }
    await expectRefused(
      postActivity(gateway, alice, composeNote(alice), { covered: list, parameters }),
      'expired',
      /has expired/,
    )
  })

  test('must both be within the window', async () => {
    const { gateway, alice } = stage
    const parameters = { algorithm, created: secondsNow() }
    const posted = postActivity(gateway, alice, composeNote(alice), {
      covered: [...covered, 'date'],
      date: dateAt(-2 * hour),
      parameters,
    })
    await expectRefused(posted, 'expired', /before the accepted window/)
  })
})

test('the gateway refuses a repeated parameter (AP-20)', async () => {
  const { gateway, alice, mallory } = stage
  const body = JSON.stringify(composeNote(alice))
  const headers = signHeaders(gateway, alice, body, { path: '/agents/echo/inbox' })
  const signature = `keyId="${mallory.keyId}",${headers.signature}`
  const posted = postActivity(gateway, alice, body, { headers: { ...headers, signature } })
  await expectRefused(posted, 'signature_invalid', /parameter "keyId" is repeated/)
})

test.each(['rsa-sha1', 'hmac-sha256', 'rsa-sha512', 'ed25519', 'none'])(
  'the gateway refuses the algorithm %s (AP-21)',
  async algorithm => {
    const { gateway, alice } = stage
    const posted = postActivity(gateway, alice, composeNote(alice), { parameters: { algorithm } })
    await expectRefused(posted, 'signature_invalid', /algorithm is not accepted/)
  },
)

test.each(['hs2019', undefined, 'RSA-SHA256'])(
  'the gateway accepts the algorithm name %s for RSA with SHA-256 (AP-22)',
  async algorithm => {
    const { gateway, alice } = stage
    expect(await postActivity(gateway, alice, composeNote(alice), { parameters: { algorithm } })).toMatchObject({
      status: 202,
    })
  },
)

test.each([
  ['for the shared inbox', { target: 'post /inbox' }],
  ['for another agent', { target: 'post /agents/help/inbox' }],
  ['for another method', { target: 'get /agents/echo/inbox' }],
  ['for another host', { host: 'other.test' }],
])('the gateway refuses a signature made %s (AP-25)', async (_, options) => {
  const { gateway, alice } = stage
  await expectRefused(postActivity(gateway, alice, composeNote(alice), options), 'signature_invalid', /does not fit/)
})

test('the gateway ignores the host that a proxy declares (AP-25)', async () => {
  const { gateway, alice } = stage
  const headers = { 'x-forwarded-host': 'other.test', forwarded: 'host=other.test' }
  const posted = postActivity(gateway, alice, composeNote(alice), { host: 'other.test', headers })
  await expectRefused(posted, 'signature_invalid', /does not fit/)
})

test.each(['post /inbox?a=1', 'post /inbox'])(
  'the gateway accepts a target signed as "%s" for a request with a query',
  async signed => {
    const { gateway, alice } = stage
    const posted = postActivity(gateway, alice, composeNote(alice), { path: '/inbox?a=1', target: signed })
    expect(await posted).toMatchObject({ status: 202 })
  },
)

test('a repeated request gets the same response and takes effect once (AP-26)', async () => {
  const { gateway, alice } = stage
  const note = composeNote(alice)
  const date = dateAt(0)
  expect(await postActivity(gateway, alice, note, { date })).toMatchObject({ status: 202 })
  expect(await postActivity(gateway, alice, note, { date })).toMatchObject({ status: 202 })
  expect(await stage.listStoredMessages()).toMatchObject([{ duplicates: 1 }])
})

describe('keys (AP-27)', () => {
  const withKey = (publicKeyPem: string) => {
    const { peer, alice } = stage
    peer.serve(alice.id, { body: { ...alice.document, publicKey: { id: alice.keyId, owner: alice.id, publicKeyPem } } })
  }

  test.each([
    ['garbage', '-----BEGIN PUBLIC KEY-----\nbm90IGEga2V5\n-----END PUBLIC KEY-----'],
    ['no PEM', 'hello'],
    ['a private key', testKey('alice').privatePem],
    ['a 1024-bit RSA key', testKey('small', 1024).publicPem],
    [
      'an Ed25519 key',
      '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----',
    ],
  ])('%s proves nothing', async (_, pem) => {
    const { gateway, alice } = stage
    withKey(pem)
    await expectRefused(postActivity(gateway, alice, composeNote(alice)), 'signer_mismatch', /does not list/)
  })

  test('a key with another owner proves nothing', async () => {
    const { gateway, peer, alice, mallory } = stage
    const publicKey = { id: alice.keyId, owner: mallory.id, publicKeyPem: alice.key.publicPem }
    peer.serve(alice.id, { body: { ...alice.document, publicKey } })
    await expectRefused(postActivity(gateway, alice, composeNote(alice)), 'signer_mismatch', /does not list/)
  })

  test('one valid key among several is enough', async () => {
    const { gateway, peer, alice, mallory } = stage
    const owner = alice.id
    const publicKey = [
      { id: `${alice.id}#old`, owner, publicKeyPem: mallory.key.publicPem },
      { id: alice.keyId, owner, publicKeyPem: alice.key.publicPem },
    ]
    peer.serve(alice.id, { body: { ...alice.document, publicKey } })
    expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
  })
})

test('the gateway fetches an actor once after a key change, without repeats for invalid signatures (AP-30)', async () => {
  const { gateway, peer, alice } = stage
  await postActivity(gateway, alice, composeNote(alice))
  const renewed = settlePerson(peer, 'alice@good.test', { key: testKey('alice’s next') })
  peer.forget()
  expect(await postActivity(gateway, renewed, composeNote(renewed))).toMatchObject({ status: 202 })
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({
    status: 401,
    code: 'signature_invalid',
  })
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 401 })
  expect(peer.countOf(alice.id)).toBe(1)
  gateway.system.advance(2 * 60_000)
  expect(await postActivity(gateway, alice, composeNote(alice), { date: dateAt(2 * 60_000) })).toMatchObject({
    status: 401,
  })
  expect(peer.countOf(alice.id)).toBe(2)
})

test('a known key causes no fetch, and simultaneous posts share one', async () => {
  const { gateway, peer, alice } = stage
  const posts = [1, 2, 3, 4, 5].map(() => postActivity(gateway, alice, composeNote(alice)))
  expect((await Promise.all(posts)).map(({ status }) => status)).toEqual([202, 202, 202, 202, 202])
  await postActivity(gateway, alice, composeNote(alice))
  // The actor is fetched twice: once without a signature, and once with ours.
  expect(peer.countOf(alice.id)).toBe(2)
})

test('the instance actor signs the gateway’s fetches of actors', async () => {
  const { gateway, peer, alice } = stage
  await postActivity(gateway, alice, composeNote(alice))
  const [first, signedFetch, ...more] = peer.requests.filter(({ path }) => path === '/users/alice')
  expect(more).toEqual([])
  expect(first?.headers.signature).toBeUndefined()
  expect(first?.headers['user-agent']).toContain('https://agents.test/')
  expect(signedFetch?.headers.signature).toMatch(
    /^keyId="https:\/\/agents\.test\/actor#main-key",algorithm="rsa-sha256",headers="\(request-target\) host date",/,
  )
  expect(signedFetch?.headers['user-agent']).toContain('https://agents.test/')
})

describe('the Delete of a deleted actor (AP-31)', () => {
  const farewell = (actor: string, object: unknown = actor) => ({
    '@context': 'https://www.w3.org/ns/activitystreams',
    id: `${actor}#delete`,
    type: 'Delete',
    actor,
    object,
  })

  test.each([410, 404])('has no effect when the key answers %s, and the gateway accepts it', async status => {
    const { gateway, peer, alice } = stage
    peer.serve(alice.id, { status })
    expect(await postActivity(gateway, alice, farewell(alice.id))).toMatchObject({ status: 202 })
    expect(await stage.listStoredMessages()).toEqual([])
  })

  test('does not authenticate other activities', async () => {
    const { gateway, peer, alice } = stage
    peer.serve(alice.id, { status: 410 })
    await expectRefused(postActivity(gateway, alice, composeNote(alice)), 'signature_invalid', /its actor is gone/)
    const other = farewell(alice.id, `${alice.id}/statuses/1`)
    await expectRefused(postActivity(gateway, alice, other), 'signature_invalid', /its actor is gone/)
  })
})

test.each(['', 'keyId', 'keyId="a"', 'keyId="a",signature=""', `keyId="a\\"b",signature="AAAA"`, 'x='.repeat(4_000)])(
  'the gateway answers an unreadable Signature header with 401: %s',
  async signature => {
    const { gateway, alice } = stage
    const body = JSON.stringify(composeNote(alice))
    const headers = { ...signHeaders(gateway, alice, body, { path: '/agents/echo/inbox' }), signature }
    const answer = await postActivity(gateway, alice, body, { headers })
    expect(answer).toMatchObject({ status: 401, code: signature ? 'signature_invalid' : 'unsigned' })
  },
)
