import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TokenCallOutcome, TokenEndpoint, TokenGateway } from './token-setup.ts'
import { callWith, describeRun, makeProofKey, mintFor, openTokenGateway, prove } from './token-setup.ts'

// These tests check the limits of a token in the web chat, after its holder has written and was asked something over A2A.

let tokens: TokenGateway
let threadId = ''
let requirement = ''
const key = makeProofKey()
const boundClaims = { cnf: { jkt: key.thumbprint } }
/** The token of Ann's client. A thief who has it lacks the key. */
const stolen = mintFor('ann', { claims: boundClaims })

const threads: TokenEndpoint = { name: 'threads', method: 'GET', path: '/api/v1/agent/threads' }
const history = (): TokenEndpoint => ({
  name: 'history',
  method: 'GET',
  path: `/api/v1/agent/history?threadId=${threadId}`,
})
const grant = (): TokenEndpoint => {
  const resume = [{ interruptId: requirement, status: 'resolved', payload: { approved: true } }]
  const body = () => describeRun(undefined, { threadId, resume })
  return { name: 'grant', method: 'POST', path: '/api/v1/agent/runs', body }
}
const describeRead = (): TokenEndpoint => ({
  ...grant(),
  name: 'look',
  body: () => describeRun(undefined, { threadId }),
})

const callEndpoint = (endpoint: TokenEndpoint, token: string): Promise<TokenCallOutcome> =>
  callWith(tokens, endpoint, { authorization: `Bearer ${token}` })
const limited = (scope: string, sub = 'ann') => mintFor(sub, { claims: { scope } })

beforeAll(async () => {
  tokens = await openTokenGateway('a2a')
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'consent to my secret order' }] }
  const rpcRequest = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
  const path = '/agents/shop/a2a'
  const sendEndpoint: TokenEndpoint = { name: 'send', method: 'POST', path, body: () => JSON.stringify(rpcRequest) }
  const proof = prove(stolen, sendEndpoint, key)
  expect(await callWith(tokens, sendEndpoint, { authorization: `DPoP ${stolen}`, dpop: proof })).toMatchObject({
    status: 200,
  })
  const proven = { authorization: `DPoP ${stolen}`, dpop: prove(stolen, threads, key) }
  const threadOutcome = await callWith(tokens, threads, proven)
  threadId = JSON.parse(threadOutcome.text).threads[0].threadId
  const historyOutcome = await callWith(tokens, history(), {
    authorization: `DPoP ${stolen}`,
    dpop: prove(stolen, history(), key),
  })
  requirement = JSON.parse(historyOutcome.text).messages.at(-1).metadata.requirements[0].id
})
afterAll(() => tokens.close())

const isOpen = async () =>
  JSON.parse((await callEndpoint(history(), mintFor('ann'))).text).messages.at(-1).metadata.requirements

test('a stolen DPoP-bound token can neither read A2A conversations in the chat nor grant their requirements', async () => {
  for (const endpoint of [threads, history(), describeRead(), grant()]) {
    expect(await callEndpoint(endpoint, stolen)).toMatchObject({ status: 401, error: 'invalid_dpop_proof' })
  }
  expect(await isOpen()).toHaveLength(1)
})

test('a token that may only send sees no A2A conversations in the chat, and can grant nothing', async () => {
  const sendLimit = limited('a2a:message.send')
  const threadOutcome = await callEndpoint(threads, sendLimit)
  expect([threadOutcome.status, JSON.parse(threadOutcome.text)]).toEqual([200, { threads: [] }])
  for (const endpoint of [history(), describeRead(), grant()]) {
    const answer = await callEndpoint(endpoint, sendLimit)
    expect([answer.status, answer.text.includes('secret')]).toEqual([404, false])
  }
  expect(await isOpen()).toHaveLength(1)
})

test('a token that may only read sees A2A conversations in the chat, and can grant nothing', async () => {
  const reading = limited('a2a:task.read')
  expect((await callEndpoint(threads, reading)).text).toContain('consent to my secret order')
  expect((await callEndpoint(history(), reading)).text).toContain('consent to my secret order')
  const refusal = { status: 403, error: 'insufficient_scope', scope: 'a2a:message.send' }
  expect(await callEndpoint(grant(), reading)).toMatchObject(refusal)
  expect(await isOpen()).toHaveLength(1)
})

test('the chat refuses operations that the scopes of a token do not cover', async () => {
  const refusal = { status: 403, error: 'insufficient_scope' }
  for (const endpoint of [threads, history(), grant()]) {
    expect(await callEndpoint(endpoint, limited('a2a:card.extended'))).toMatchObject(refusal)
  }
  const cancel: TokenEndpoint = { name: 'cancel', method: 'POST', path: '/api/v1/agent/runs/r/cancel' }
  const lacking = limited('a2a:task.read a2a:message.send')
  expect(await callEndpoint(cancel, lacking)).toMatchObject({ ...refusal, scope: 'a2a:task.cancel' })
})

test('nobody can grant a requirement of another person, even with all scopes', async () => {
  expect(await callEndpoint(grant(), limited('a2a:task.read a2a:message.send', 'bob'))).toMatchObject({ status: 404 })
  expect(await isOpen()).toHaveLength(1)
})

test('a token that may read and send grants the A2A requirements of its holder', async () => {
  const granted = await callEndpoint(grant(), limited('a2a:task.read a2a:message.send'))
  expect(granted.text).toContain('decided: consent_required granted')
})
