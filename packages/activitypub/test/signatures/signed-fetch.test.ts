import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { domain, origin } from '../gateway.ts'
import type { SignatureOptions } from '../message-signer.ts'
import { signMessageHeaders } from '../message-signer.ts'
import type { PeerAccount, PostActivityOptions } from '../person.ts'
import { composeNote, postActivity, settlePerson, signHeaders } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// AP-65, and `require_signed_fetch`.

const accept = 'application/activity+json'
const echo = `${origin}/agents/echo`

type Headers = Record<string, string>

/** Composes a GET that is signed by draft-cavage-12, as Mastodon and GoToSocial sign theirs. */
function signGet(
  { gateway }: Stage,
  signer: PeerAccount,
  path: string,
  options: Partial<PostActivityOptions> = {},
): Headers {
  const covered = ['(request-target)', 'host', 'date']
  const { date = '', signature = '' } = signHeaders(gateway, signer, '', {
    path,
    covered,
    target: `get ${path}`,
    ...options,
  })
  return { date, signature }
}

function signMessageGet(
  { gateway }: Stage,
  signer: PeerAccount,
  path: string,
  options: SignatureOptions = {},
): Headers {
  return signMessageHeaders(gateway, signer, undefined, { path, ...options })
}

async function get({ gateway }: Stage, path: string, headers: Headers = {}) {
  const answer = await gateway.app.request(`${origin}${path}`, { headers: { accept, ...headers } })
  const text = await answer.text()
  const isJson = /json/.test(answer.headers.get('content-type') ?? '')
  return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text }
}

/** Returns the path of the agent's answer to a post like this one. */
async function answerPath(stage: Stage, author: PeerAccount, activity: Record<string, unknown>): Promise<string> {
  const { gateway, peer } = stage
  peer.forget()
  await postActivity(gateway, author, activity)
  const posted = () => peer.requests.find(({ method }) => method === 'POST')
  await vi.waitFor(() => expect(posted()).toBeDefined())
  return new URL(JSON.parse(posted()?.body ?? '').object.id).pathname
}

describe('a non-public post (AP-65)', () => {
  let stage: Stage
  let bob: PeerAccount
  let path: string
  let mentioning: string

  beforeAll(async () => {
    const agent = {
      handle: ({ parts }: { parts: readonly unknown[] }) =>
        JSON.stringify(parts).includes('ask')
          ? {
              parts: [{ kind: 'text' as const, mime: 'text/plain' as const, content: 'x' }],
              mentions: ['@bob@other.test'],
            }
          : 'hi',
    }
    stage = await openStage({ agents: { echo: agent } })
    bob = settlePerson(stage.peer, 'bob@other.test')
    for (const inbox of ['https://good.test/users/alice/inbox', 'https://other.test/users/bob/inbox']) {
      stage.peer.serve(inbox, { status: 202 })
    }
    stage.gateway.work()
    const audience = { to: [echo], cc: [] }
    path = await answerPath(stage, stage.alice, composeNote(stage.alice, audience, audience))
    mentioning = await answerPath(
      stage,
      stage.alice,
      composeNote(stage.alice, { ...audience, content: 'ask bob' }, audience),
    )
  })
  afterAll(() => stage.close())

  test.each([
    ['draft-cavage-12', signGet],
    ['RFC 9421', signMessageGet],
  ])('is visible to its recipient, signed by %s', async (_, sign) => {
    const { status, headers, body } = await get(stage, path, sign(stage, stage.alice, path))
    expect(status).toBe(200)
    expect(body).toMatchObject({ id: origin + path, type: 'Note', to: [stage.alice.id], cc: [] })
    expect(headers.get('vary')).toBe('Accept, Signature, Signature-Input')
    expect(headers.get('cache-control')).toBe('private, no-store')
  })

  test('is visible as an activity to its recipient', async () => {
    const activity = `${path}/activity`
    expect(await get(stage, activity, signGet(stage, stage.alice, activity))).toMatchObject({ status: 200 })
  })

  test('is visible to the people whom the answer mentions', async () => {
    expect(await get(stage, mentioning, signGet(stage, bob, mentioning))).toMatchObject({ status: 200 })
    expect(await get(stage, path, signGet(stage, bob, path))).toMatchObject({ status: 404 })
  })

  test.each<[string, (stage: Stage) => Headers]>([
    ['nobody', () => ({})],
    ['a stranger', stage => signGet(stage, stage.mallory, path)],
    ['a stranger by RFC 9421', stage => signMessageGet(stage, stage.mallory, path)],
    ['somebody else’s key', stage => signGet(stage, stage.alice, path, { key: stage.mallory.key })],
    ['a key that claims her', stage => signGet(stage, stage.mallory, path, { keyId: stage.alice.keyId })],
    ['a signature for another path', stage => signGet(stage, stage.alice, '/agents/echo')],
    ['a signature for another host', stage => signGet(stage, stage.alice, path, { host: 'other.test' })],
    ['a signature for a POST', stage => signGet(stage, stage.alice, path, { target: `post ${path}` })],
    ['a signature without a target', stage => signGet(stage, stage.alice, path, { covered: ['host', 'date'] })],
    ['an old signature', stage => signGet(stage, stage.alice, path, { date: 'Tue, 20 Apr 2021 02:07:55 GMT' })],
    ['nonsense', () => ({ signature: 'nonsense' })],
    ['a key of no host', stage => signGet(stage, stage.alice, path, { keyId: 'acct:alice@good.test' })],
    ['a key of a private host', stage => signGet(stage, stage.alice, path, { keyId: 'https://127.0.0.1/key' })],
    [
      'two signatures',
      stage => ({ ...signMessageGet(stage, stage.alice, path), signature: 'sig1=:AA==:, sig2=:AA==:' }),
    ],
  ])('does not exist for %s', async (_, sign) => {
    expect(await get(stage, path, sign(stage))).toMatchObject({ status: 404, body: { code: 'no_recipient' } })
  })

  test('needs no signature if it is public', async () => {
    stage.peer.serve('https://good.test/inbox', { status: 202 })
    const open = await answerPath(stage, stage.alice, composeNote(stage.alice))
    stage.peer.forget()
    const { status, headers } = await get(stage, open, signGet(stage, stage.mallory, open))
    expect(status).toBe(200)
    expect(headers.get('vary')).toBe('Accept')
    expect(stage.peer.requests).toEqual([])
  })
})

describe('require_signed_fetch', () => {
  let stage: Stage

  beforeEach(async () => {
    stage = await openStage({ config: { require_signed_fetch: true, block: ['evil.test'] } })
  })
  afterEach(() => stage.close())

  const paths = ['', '/outbox', '/outbox?page=true', '/followers', '/following', '/featured'].map(
    path => `/agents/echo${path}`,
  )

  test.each([...paths, '/agents/echo/posts/1', '/agents/echo/posts/1/activity'])(
    'hides %s from strangers',
    async path => {
      const { status, headers, body } = await get(stage, path)
      expect({ status, code: body.code }).toEqual({ status: 401, code: 'unsigned' })
      expect(headers.get('accept-signature')).toBe('sig1=("@method" "@target-uri");created;keyid')
    },
  )

  test.each(paths)('shows %s for a signed request', async path => {
    const { status, headers } = await get(stage, path, signGet(stage, stage.alice, path))
    expect(status).toBe(200)
    expect(headers.get('vary')).toBe('Accept, Signature, Signature-Input')
    expect(headers.get('cache-control')).toBe('private, no-store')
    expect(await get(stage, path, signMessageGet(stage, stage.alice, path))).toMatchObject({ status: 200 })
  })

  test.each([
    '/actor',
    '/.well-known/nodeinfo',
    '/nodeinfo/2.1',
    `/.well-known/webfinger?resource=acct:echo@${domain}`,
  ])('keeps %s open, since strict servers read it before they answer us', async path => {
    expect(await get(stage, path)).toMatchObject({ status: 200 })
  })

  test('keeps pages for people', async () => {
    expect(await get(stage, '/agents/echo', { accept: 'text/html' })).toMatchObject({ status: 404 })
  })

  test('refuses a blocked host without a fetch of its key', async () => {
    const answer = await get(stage, '/agents/echo', signGet(stage, stage.mallory, '/agents/echo'))
    expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    expect(stage.peer.requests).toEqual([])
  })

  test('the gateway refuses a wrong signature', async () => {
    const headers = signGet(stage, stage.alice, '/agents/echo', { key: stage.mallory.key })
    expect(await get(stage, '/agents/echo', headers)).toMatchObject({
      status: 401,
      body: { code: 'signature_invalid' },
    })
  })

  test('answers with a temporary refusal while the key’s host does not answer', async () => {
    stage.peer.serve(stage.alice.id, { status: 503 })
    const answer = await get(stage, '/agents/echo', signGet(stage, stage.alice, '/agents/echo'))
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(answer.headers.get('retry-after')).toBeTruthy()
  })

  describe('a key with its own document, as in GoToSocial,', () => {
    const keyId = 'https://good.test/users/greta/main-key'

    function settleGreta(keyDocument: object): PeerAccount {
      const id = 'https://good.test/users/greta'
      const plain = settlePerson(stage.peer, 'greta@good.test')
      const publicKey = { id: keyId, owner: id, publicKeyPem: plain.key.publicPem }
      stage.peer.serve(id, { body: { ...plain.document, publicKey } })
      stage.peer.serve(keyId, { body: { id, publicKey, ...keyDocument } })
      return { ...plain, keyId }
    }

    const ask = (greta: PeerAccount) => get(stage, '/agents/echo', signGet(stage, greta, '/agents/echo'))

    test('leads to its owner, once', async () => {
      const greta = settleGreta({})
      expect(await ask(greta)).toMatchObject({ status: 200 })
      expect(await ask(greta)).toMatchObject({ status: 200 })
      expect(stage.peer.countOf(keyId)).toBe(1)
    })

    test('proves nothing about an owner who does not list it', async () => {
      const greta = settleGreta({ publicKey: { owner: stage.alice.id } })
      expect(await ask(greta)).toMatchObject({ status: 401, body: { code: 'signer_mismatch' } })
    })

    test.each([
      ['on another host', { publicKey: { owner: 'https://other.test/users/x' } }],
      ['that is no IRI', { id: 1, publicKey: { owner: 1 } }],
    ])('proves nothing with an owner %s', async (_, keyDocument) => {
      expect(await ask(settleGreta(keyDocument))).toMatchObject({ status: 401, body: { code: 'signature_invalid' } })
    })
  })

  test('strangers cannot cause unlimited fetches', async () => {
    const path = '/agents/echo'
    // More requests are allowed as time passes.
    const now = Date.now()
    Object.assign(stage.gateway.system, { now: () => now })
    const responses = Array.from({ length: 200 }, (_, at) =>
      get(stage, path, signGet(stage, stage.alice, path, { keyId: `https://good.test/key/${at}` })),
    )
    const statuses = (await Promise.all(responses)).map(({ status }) => status)
    expect(statuses).toContain(429)
    const signed = stage.peer.requests.filter(({ headers }) => 'signature' in headers)
    expect(stage.peer.requests.length - signed.length).toBe(120)
    expect(signed.length).toBe(3)
  })
})
