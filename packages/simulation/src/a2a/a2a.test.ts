import { createRemoteJWKSet, customFetch, jwtVerify } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TinyGateway } from '../../test/tiny-gateway.ts'
import { openTinyGateway } from '../../test/tiny-gateway.ts'
import type { Simulation, TokenPlan } from '../index.ts'
import { describeSendRequest, disturbances, openSimulation, readSendResult } from '../index.ts'

let simulation: Simulation
let gateway: TinyGateway

beforeAll(async () => {
  simulation = await openSimulation()
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { message: { messageId: 'answer' } } })
  gateway = await openTinyGateway(simulation, { onPost: () => ({ status: 200, body }) })
})
afterAll(async () => {
  await Promise.all([simulation.close(), gateway.close()])
})

/** Checks a token with jose, as a careful service does. */
async function check(token: string, { issuer, jwks } = simulation.a2a.issuerConfig) {
  const keys = createRemoteJWKSet(new URL(jwks), { [customFetch]: simulation.loopback.fetch })
  return jwtVerify(token, keys, { issuer, audience: 'https://agents.test/a2a', algorithms: ['ES256'] })
}

test('an honest token verifies with the published keys', async () => {
  const { payload, protectedHeader } = await check(
    await simulation.a2a.token({ sub: 'carol', scope: 'send', claims: { tenant: 't' } }),
  )
  expect(payload).toMatchObject({
    sub: 'carol',
    client_id: 'carol',
    scope: 'send',
    tenant: 't',
    iss: 'https://issuer.test',
  })
  expect(protectedHeader).toMatchObject({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) })
})

test.each<[NonNullable<TokenPlan['fault']>, string]>([
  ['tampered', 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED'],
  ['forged', 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED'],
  ['expired', 'ERR_JWT_EXPIRED'],
  ['not_yet', 'ERR_JWT_CLAIM_VALIDATION_FAILED'],
  ['wrong_owner', 'ERR_JWT_CLAIM_VALIDATION_FAILED'],
  ['wrong_issuer', 'ERR_JWT_CLAIM_VALIDATION_FAILED'],
  ['alg_none', 'ERR_JOSE_ALG_NOT_ALLOWED'],
])('a token that is %s fails with %s', async (fault, code) => {
  await expect(check(await simulation.a2a.token({ fault }))).rejects.toMatchObject({ code })
})

test('a forged token names another key than its signature’s', async () => {
  const kidOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
  expect(kidOf(await simulation.a2a.token({ fault: 'forged' }))).toBe(kidOf(await simulation.a2a.token()))
})

test('nobody can fetch the dead issuer’s keys', async () => {
  const token = await simulation.a2a.token({ fault: 'key_host_down' })
  await expect(check(token, simulation.a2a.deadIssuerConfig)).rejects.toThrow(/socket hang up/)
})

test('old tokens stay valid after a key change until the issuer drops the key', async () => {
  const old = await simulation.a2a.token()
  await simulation.a2a.rotate()
  await check(old)
  await check(await simulation.a2a.token())
  await simulation.a2a.rotate({ forget: true })
  await expect(check(old)).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' })
})

test('a test can disturb the JWKS endpoint', async () => {
  const fix = simulation.a2a.disturb('issuer.test', disturbances.down)
  await expect(check(await simulation.a2a.token())).rejects.toThrow(/socket hang up/)
  fix()
  await check(await simulation.a2a.token())
})

const url = 'https://agents.test/agents/echo/a2a'

test('deliver() posts a JSON-RPC call with a bearer token', async () => {
  const receipt = await simulation.a2a.deliver({ url, text: 'hello', messageId: 'm-1', contextId: 'c-1' })
  expect(receipt).toMatchObject({ status: 200, messageId: 'm-1', result: { message: { messageId: 'answer' } } })
  const request = gateway.posted.at(-1)
  expect(request).toMatchObject({ path: '/agents/echo/a2a', headers: { 'a2a-version': '1.0' } })
  await check(String(request?.headers.authorization).replace('Bearer ', ''))
  expect(JSON.parse(request?.body.toString() ?? '')).toEqual({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message: { messageId: 'm-1', contextId: 'c-1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } },
  })
})

test('a replayed call has the same message id and another text', async () => {
  const before = gateway.posted.length
  await simulation.a2a.deliver({ url, text: 'hello', fault: 'replayed' })
  const messages = gateway.posted.slice(before).map(({ body }) => JSON.parse(body.toString()).params.message)
  expect(messages).toHaveLength(2)
  expect(messages[1].messageId).toBe(messages[0].messageId)
  expect(messages[1].parts).not.toEqual(messages[0].parts)
})

test('an unsigned call has no token, unknown_recipient names nobody, and malformed is not JSON', async () => {
  await simulation.a2a.deliver({ url, text: 'x', fault: 'unsigned' })
  expect(gateway.posted.at(-1)?.headers.authorization).toBeUndefined()
  await simulation.a2a.deliver({ url, text: 'x', fault: 'unknown_recipient' })
  expect(gateway.posted.at(-1)?.path).toBe('/agents/no-such-agent/a2a')
  await simulation.a2a.deliver({ url, text: 'x', fault: 'malformed' })
  expect(() => JSON.parse(gateway.posted.at(-1)?.body.toString() ?? '')).toThrow(SyntaxError)
})

test('the official client can call the simulated peer, for a message and a stream', async () => {
  const client = await simulation.a2a.client(simulation.a2a.peer.cardUrl, 'a-token')
  const answer = readSendResult(await client.sendMessage(describeSendRequest('hello')))
  expect(answer).toMatchObject({ text: 'You said: hello', state: 'completed' })
  const events = []
  for await (const event of client.sendMessageStream(describeSendRequest('again'))) events.push(event)
  expect(events).toHaveLength(1)
  expect(simulation.a2a.peer.tokens).toEqual(['a-token', 'a-token'])
})
