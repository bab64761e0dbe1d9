import { createVerifier, httpbis } from 'http-message-signatures'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { origin } from '../gateway.ts'
import { testKey } from '../keys.ts'
import type { PeerAnswer, PeerRequest } from '../peer.ts'
import { composeNote, postActivity } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// AP-28 and AP-29: deliveries are signed in the scheme that the peer accepts.

let stage: Stage

beforeEach(async () => {
  stage = await openStage()
  stage.gateway.work()
})
afterEach(() => stage.close())

const inbox = 'https://good.test/inbox'
type Answer = (request: PeerRequest) => PeerAnswer

function schemeOf({ headers }: PeerRequest): 'cavage' | 'rfc9421' {
  return headers['signature-input'] ? 'rfc9421' : 'cavage'
}

async function deliverTo(answer: Answer): Promise<PeerRequest[]> {
  const { gateway, peer, alice } = stage
  peer.serve(inbox, answer)
  peer.forget()
  const before = (await gateway.store.listDeliveries({ limit: 100 })).length
  await postActivity(gateway, alice, composeNote(alice), { date: new Date(gateway.system.now()).toUTCString() })
  const ended = async () => {
    const deliveries = await gateway.store.listDeliveries({ limit: 100 })
    return deliveries.length > before && deliveries.every(({ state }) => state === 'sent' || state === 'dead')
  }
  await expect.poll(ended).toBe(true)
  return peer.requests.filter(({ method }) => method === 'POST')
}

const onlyNew: (status: number) => Answer = status => request => ({
  status: schemeOf(request) === 'rfc9421' ? 202 : status,
})

describe('the second signature scheme (AP-28)', () => {
  test.each([400, 401, 403])('follows a %s with RFC 9421 and the same bytes', async status => {
    const [first, second, ...more] = await deliverTo(onlyNew(status))
    expect(more).toEqual([])
    expect(first && schemeOf(first)).toBe('cavage')
    expect(second && schemeOf(second)).toBe('rfc9421')
    expect(second?.body).toBe(first?.body)
    expect(second?.headers.digest).toBeUndefined()
    const message = { method: 'POST', url: inbox, headers: second?.headers as Record<string, string> }
    const keyLookup = async () => ({ verify: createVerifier(testKey('own').publicPem, 'rsa-v1_5-sha256') })
    expect(await httpbis.verifyMessage({ keyLookup, requiredFields: ['@method', '@target-uri'] }, message)).toBe(true)
    const [delivery] = await stage.gateway.store.listDeliveries({ limit: 1 })
    expect(delivery).toMatchObject({ state: 'sent', attempts: 1 })
  })

  test.each([202, 404, 410, 413])('does not follow a %s', async status => {
    expect((await deliverTo(() => ({ status }))).map(schemeOf)).toEqual(['cavage'])
  })

  test('comes first for a while at a host that accepted it', async () => {
    await deliverTo(onlyNew(401))
    expect((await deliverTo(onlyNew(401))).map(schemeOf)).toEqual(['rfc9421'])
    stage.gateway.system.advance(2 * 3_600_000)
    expect((await deliverTo(onlyNew(401))).map(schemeOf)).toEqual(['cavage', 'rfc9421'])
  })

  test('does not come first at a server that accepts everything', async () => {
    await deliverTo(() => ({ status: 202 }))
    expect((await deliverTo(() => ({ status: 202 }))).map(schemeOf)).toEqual(['cavage'])
  })

  test('loses its precedence when a host returns to the old scheme', async () => {
    await deliverTo(onlyNew(401))
    const onlyOld: Answer = request => ({ status: schemeOf(request) === 'cavage' ? 202 : 401 })
    expect((await deliverTo(onlyOld)).map(schemeOf)).toEqual(['rfc9421', 'cavage'])
    expect((await deliverTo(onlyOld)).map(schemeOf)).toEqual(['cavage'])
  })
})

test('the first request has a draft-cavage signature that a server can still verify later (AP-29)', async () => {
  const [first, ...more] = await deliverTo(() => ({ status: 202 }))
  expect(more).toEqual([])
  expect(first?.headers.signature).toMatch(
    /^keyId="https:\/\/agents.test\/agents\/echo#main-key",algorithm="rsa-sha256"/,
  )
})

test('after two 401 answers the gateway retries a delivery a few times, because the host may not have the key yet', async () => {
  const posts = await deliverTo(() => ({ status: 401 }))
  expect(posts.map(schemeOf)).toEqual(['cavage', 'rfc9421', 'cavage', 'rfc9421', 'cavage', 'rfc9421'])
  const [delivery] = await stage.gateway.store.listDeliveries({ limit: 1 })
  expect(delivery).toMatchObject({ state: 'dead', last_error: 'Cannot deliver: the inbox answered 401' })
})

test('the gateway fetches an actor with RFC 9421 from a host that requires it', async () => {
  const { gateway, peer, alice } = stage
  peer.serve(inbox, { status: 202 })
  peer.serve(alice.id, request => (schemeOf(request) === 'rfc9421' ? { body: alice.document } : { status: 401 }))
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
  const [unsigned, first, second, ...more] = peer.requests.filter(({ path }) => path === '/users/alice')
  expect(more).toEqual([])
  expect(unsigned?.headers.signature).toBeUndefined()
  expect(first && schemeOf(first)).toBe('cavage')
  expect(second?.headers['signature-input']).toContain(`keyid="${origin}/actor#main-key"`)
  expect(second?.headers['content-digest']).toBeUndefined()
})
