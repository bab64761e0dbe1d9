import { Undeliverable } from '@postern/message'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseIri } from '../../src/format/iri.ts'
import { createActorCache } from '../../src/peers/actor-cache.ts'
import { createSignerDocuments } from '../../src/peers/signer-documents.ts'
import type { PeerAnswer, PeerRequest } from '../peer.ts'
import type { PeerAccount, PostActivityOptions } from '../person.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// The gateway looks up a claimed signer without its own signature first.

let stage: Stage

beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.close())

const dayMs = 86_400_000
const refused = { status: 401, code: 'signature_invalid' }
/** The response if our own signature is at fault, so that the sender may retry. */
const putOff = { status: 503, code: 'unavailable' }
const isSigned = ({ headers }: PeerRequest) => 'signature' in headers

function settle(name: string, show?: (request: PeerRequest, document: object) => PeerAnswer): PeerAccount {
  const account = settlePerson(stage.peer, `${name}@good.test`)
  if (show) stage.peer.serve(account.id, request => show(request, account.document))
  return account
}

function post(author: PeerAccount, options: PostActivityOptions = {}) {
  const date = new Date(stage.gateway.system.now()).toUTCString()
  return postActivity(stage.gateway, author, composeNote(author), { date, ...options })
}

/** Returns the kinds of requests for the actor since `forget`: signed or open. */
function listRequestKinds({ id }: PeerAccount) {
  const path = new URL(id).pathname
  return stage.peer.requests.filter(request => request.path === path).map(each => (isSigned(each) ? 'signed' : 'open'))
}

/** Creates a host that shows its actors to signed requests, and answers all others with this status. */
const strict = (status: number) => (request: PeerRequest, document: object) =>
  isSigned(request) ? { body: document } : { status }

const nameOf = async () => (await stage.listStoredMessages())[0]?.message.sender.display_name

describe('a host that shows its actors without signatures', () => {
  test('shows the first one to our signature too, and needs no signature for the others for a day', async () => {
    const [ann, bea, cleo] = [settle('ann'), settle('bea'), settle('cleo')]
    expect(await post(ann)).toMatchObject({ status: 202 })
    expect(listRequestKinds(ann)).toEqual(['open', 'signed'])
    expect(await post(bea)).toMatchObject({ status: 202 })
    expect(listRequestKinds(bea)).toEqual(['open'])
    stage.gateway.system.advance(dayMs)
    expect(await post(cleo)).toMatchObject({ status: 202 })
    expect(listRequestKinds(cleo)).toEqual(['open', 'signed'])
  })

  test('causes no signed request for a forged actor', async () => {
    const ann = settle('ann')
    expect(await post(ann, { key: stage.mallory.key })).toMatchObject(refused)
    expect(listRequestKinds(ann)).toEqual(['open'])
    expect(await post(ann)).toMatchObject({ status: 202 })
    expect(listRequestKinds(ann)).toEqual(['open', 'signed'])
  })

  test('may list a new key, which causes one more fetch of an actor that a forger named', async () => {
    const ann = settle('ann')
    await post(ann, { key: stage.mallory.key })
    stage.gateway.system.advance(3_600_000)
    const key = stage.mallory.key
    const renewed = settlePerson(stage.peer, 'ann@good.test', { key })
    expect(await post(renewed)).toMatchObject({ status: 202 })
    expect(listRequestKinds(ann)).toEqual(['open', 'signed'])
  })

  test('causes few signed requests for forged actors that do not exist', async () => {
    for (let at = 0; at < 20; at += 1) {
      const id = `https://good.test/users/nobody-${at}`
      expect(await post({ ...stage.alice, id, keyId: `${id}#main-key` })).toMatchObject(refused)
    }
    expect(stage.peer.requests.filter(isSigned)).toHaveLength(3)
  })

  test('causes no signed request once it has shown us the same', async () => {
    await post(settle('ann'))
    stage.peer.forget()
    const id = 'https://good.test/users/nobody'
    expect(await post({ ...stage.alice, id, keyId: `${id}#main-key` })).toMatchObject(refused)
    expect(stage.peer.requests.map(isSigned)).toEqual([false])
  })

  test.each([
    ['to everybody', { name: undefined }],
    ['without an inbox', { inbox: undefined }],
  ])('may hide parts of one account %s, which the gateway then fetches with its signature', async (_, less) => {
    await post(settle('ann'))
    const bea = settle('bea', (request, document) => ({
      body: isSigned(request) ? document : { ...document, ...less },
    }))
    expect(await post(bea)).toMatchObject({ status: 202 })
    expect(listRequestKinds(bea)).toEqual(['open', 'signed'])
    expect(await nameOf()).toBe('The bea')
  })

  test.each([401, 403, 404, 410])('admits nobody if it answers %s to our signature', async status => {
    const ann = settle('ann', (request, document) => (isSigned(request) ? { status } : { body: document }))
    const expected = status === 401 ? putOff : refused
    expect(await post(ann)).toMatchObject(expected)
    expect(await post(ann)).toMatchObject(expected)
    expect(await stage.listStoredMessages()).toEqual([])
  })
})

describe('a host that requires signatures', () => {
  test.each([401, 403])('with %s for everybody gets an unsigned request once a day', async status => {
    const [ann, bea, cleo] = [
      settle('ann', strict(status)),
      settle('bea', strict(status)),
      settle('cleo', strict(status)),
    ]
    expect(await post(ann)).toMatchObject({ status: 202 })
    expect(listRequestKinds(ann)).toEqual(['open', 'signed'])
    expect(await post(bea)).toMatchObject({ status: 202 })
    expect(listRequestKinds(bea)).toEqual(['signed'])
    stage.gateway.system.advance(dayMs)
    expect(await post(cleo)).toMatchObject({ status: 202 })
    expect(listRequestKinds(cleo)).toEqual(['open', 'signed'])
  })

  test.each([
    ['answers 404 to everybody', () => ({ status: 404 })],
    ['answers 400 to everybody', () => ({ status: 400 })],
    ['sends everybody away', () => ({ status: 302, headers: { location: 'https://other.test/login' } })],
    ['shows everybody a page', () => ({ type: 'text/html', body: '<p>Log in' })],
    [
      'shows everybody another document',
      (document: object) => ({ body: { ...document, name: 'Somebody', icon: null } }),
    ],
    ['shows everybody no key', (document: object) => ({ body: { ...document, publicKey: undefined } })],
  ])('with %s gets only signed requests after its first actor', async (_, show: (document: object) => PeerAnswer) => {
    const hide = (request: PeerRequest, document: object) => (isSigned(request) ? { body: document } : show(document))
    const [ann, bea] = [settle('ann', hide), settle('bea', hide)]
    expect(await post(ann)).toMatchObject({ status: 202 })
    expect(listRequestKinds(ann)).toEqual(['open', 'signed'])
    expect(await nameOf()).toBe('The ann')
    expect(await post(bea)).toMatchObject({ status: 202 })
    expect(listRequestKinds(bea)).toEqual(['signed'])
  })

  test('that refuses our signature too gets one request in each scheme', async () => {
    const [ann, bea] = [settle('ann', () => ({ status: 401 })), settle('bea', () => ({ status: 401 }))]
    expect(await post(ann)).toMatchObject(putOff)
    expect(listRequestKinds(ann)).toEqual(['open', 'signed', 'signed'])
    expect(await post(bea)).toMatchObject(putOff)
    expect(listRequestKinds(bea)).toEqual(['signed', 'signed'])
    stage.peer.forget()
    expect(await post(ann)).toMatchObject(putOff)
    expect(stage.peer.requests).toEqual([])
  })

  test('may start and stop requiring it', async () => {
    await post(settle('ann'))
    const bea = settle('bea', strict(401))
    expect(await post(bea)).toMatchObject({ status: 202 })
    expect(listRequestKinds(bea)).toEqual(['open', 'signed'])
    stage.gateway.system.advance(dayMs)
    await post(settle('cleo'))
    const dora = settle('dora')
    expect(await post(dora)).toMatchObject({ status: 202 })
    expect(listRequestKinds(dora)).toEqual(['open'])
  })
})

describe('createSignerDocuments()', () => {
  const fetched = { state: 'found', document: { id: 'https://good.test/users/ann', name: 'Ann' } } as const

  function createDocuments(now = () => 0) {
    const requestedUrls: string[] = []
    const documents = createSignerDocuments({
      system: {
        now,
        fetch: async url => {
          requestedUrls.push(url)
          return { status: 401, headers: new Headers(), body: Buffer.from(''), url } as never
        },
      },
      fetchSigned: async () => fetched,
      isBlocked: host => host === 'blocked.test',
    })
    return { documents, asked: requestedUrls }
  }

  test('remembers a bounded number of signature-requiring hosts, and drops the least recently seen', async () => {
    const { documents, asked } = createDocuments()
    const hosts = Array.from({ length: 5_001 }, (_, at) => `https://h${at}.test/users/ann`)
    for (const iri of hosts) await documents.fetch(iri)
    expect(asked).toHaveLength(5_001)
    await documents.fetch(hosts[5_000] ?? '')
    expect(asked).toHaveLength(5_001)
    await documents.fetch(hosts[0] ?? '')
    expect(asked).toHaveLength(5_002)
  })

  test('asks an unreachable host once, without signing', async () => {
    const calls: string[] = []
    const documents = createSignerDocuments({
      system: {
        now: () => 0,
        fetch: async () => {
          calls.push('open')
          throw new Undeliverable('Cannot fetch: it has no public address')
        },
      },
      fetchSigned: async () => {
        calls.push('signed')
        return fetched
      },
      isBlocked: () => false,
    })
    await expect(documents.fetch('https://nowhere.test/users/ann')).rejects.toThrow('no public address')
    expect(calls).toEqual(['open'])
  })

  test('does not ask a blocked host', async () => {
    const { documents, asked } = createDocuments()
    await expect(documents.fetch('https://blocked.test/users/ann')).rejects.toThrow('its host is blocked')
    expect(asked).toEqual([])
  })
})

test('the gateway fetches an actor again with its signature before any use other than a claim', async () => {
  const iri = parseIri('https://good.test/users/ann', 'Ann')
  const open: string[] = []
  const actors = createActorCache({
    fetchDocument: async id => ({ state: 'found', document: { id, name: 'Ann', inbox: `${id}/inbox` } }),
    documents: {
      fetch: async id => ({ state: 'found', document: { id }, isPublic: true }),
      showsEverything: host => open.includes(host),
      recordHostMode: (host, isOpen) => void (isOpen && open.push(host)),
    },
    now: () => 0,
  })
  expect(await actors.findClaimed(iri)).toMatchObject({ inbox: undefined })
  expect(await actors.find(iri)).toMatchObject({ name: 'Ann', inbox: `${iri.href}/inbox` })
  expect(await actors.findClaimed(iri)).toMatchObject({ name: 'Ann' })
  expect(open).toEqual([])
})
