import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, gatewayOrigin, openTestGateway } from '../setup/gateway.ts'
import type { RpcAnswer } from '../setup/requirement-steps.ts'
import { askShop, callShop, decide, readAnswerText, readPolicy, shopkeeper } from '../setup/requirement-steps.ts'
import type { JwsKey } from '../setup/sign-jws.ts'
import { makeJwsKey, signJws } from '../setup/sign-jws.ts'

// These tests cover payment over A2A, with genuine and false receipts of an external provider.

const issuer = 'https://pay.test'
const providerKey = makeJwsKey()
const strangersKey = makeJwsKey()

let gateway: TestGateway

beforeAll(async () => {
  const { jwk } = providerKey
  const payments = { use: 'receipt', issuer, jwk, checkout_url: 'https://pay.test/checkout?shop=7' }
  gateway = await openTestGateway(simulation => ({
    agents: { shop: shopkeeper },
    payments,
    a2a: {
      auth: { anonymous: true, issuers: [{ ...simulation.a2a.issuerConfig, audience: `${gatewayOrigin}/a2a` }] },
    },
  }))
})
afterAll(() => gateway.close())

let receipts = 0

/** Signs a receipt for what the policy requires, with some claims changed. The provider's key signs, unless another one is given. */
function signReceipt(
  policy: Readonly<Record<string, unknown>>,
  changes: Readonly<Record<string, unknown>> = {},
  { key = providerKey, header = {} }: { readonly key?: JwsKey; readonly header?: object } = {},
): string {
  receipts += 1
  const now = Math.floor(Date.now() / 1000)
  const { requirement, amount, currency } = policy
  const times = { iat: now, exp: now + 600 }
  const claims = {
    iss: issuer,
    aud: gatewayOrigin,
    requirement,
    amount,
    currency,
    jti: `r-${receipts}`,
    ...times,
    ...changes,
  }
  return signJws({ typ: 'receipt+jwt', ...header }, claims, key)
}

function askToPay(sub = 'carol'): Promise<RpcAnswer> {
  return askShop(gateway, 'pay please', { sub })
}

/** Continues the task of `asked` with a message that resolves its payment requirement. */
function payTask(response: RpcAnswer, receipt: string | undefined, overrides: object = {}): Promise<RpcAnswer> {
  const { state } = readPolicy(response)
  const resolution = { in_reply_to_state: state, kind: 'payment_required', ...(receipt && { receipt }) }
  return askShop(gateway, 'here you are', { taskId: response.task?.id ?? '', resolution, ...overrides })
}

const field = (name: string) => `message.metadata.mentionable.policy_resolution.${name}`

async function countMessages(): Promise<number> {
  return (await gateway.messages()).length
}

test('a required payment makes a task input-required, with all data for the payment (MN-7.1)', async () => {
  const response = await askToPay()
  expect(response.task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  const policy = readPolicy(response)
  expect(policy).toMatchObject({
    kind: 'payment_required',
    message: 'A cake is not for nothing.',
    amount: '4.50',
    currency: 'EUR',
    requirement: expect.stringMatching(/^[0-9a-f]{32}$/),
    state: expect.stringMatching(/^[\w-]{43}$/),
  })
  expect(policy.url).toBe(`${gatewayOrigin}/actions/${String(policy.state)}`)
  expect(readAnswerText(response)).toContain('A cake is not for nothing.')
})

test('a receipt continues the task once, and a repeated call gets the same answer (MN-7.2)', async () => {
  const response = await askToPay()
  const receipt = signReceipt(readPolicy(response), { reference: 'invoice 12' })
  const paidResponse = await payTask(response, receipt, { messageId: 'paying-1' })
  expect(paidResponse.task?.status.state).toBe('TASK_STATE_COMPLETED')
  expect(readAnswerText(paidResponse)).toContain(
    'decided: payment_required granted by receipt, my state, no order, invoice 12',
  )
  const retried = await payTask(response, receipt, { messageId: 'paying-1' })
  expect(retried.task?.id).toBe(response.task?.id)
  expect(readAnswerText(retried)).toBe(readAnswerText(paidResponse))

  const countBefore = await countMessages()
  const contextId = response.task?.contextId ?? ''
  const replayed = await payTask(response, receipt, { taskId: undefined, contextId })
  expect(replayed).toMatchObject({
    status: 403,
    error: { violations: [{ field: field('in_reply_to_state'), description: 'has been used already' }] },
  })
  expect(await countMessages()).toBe(countBefore)

  const { message } = await gateway.readMessage('paying-1')
  expect(message.policy_resolution).toMatchObject({ outcome: 'granted', receipt: { provider: issuer } })
  expect(JSON.stringify(message)).not.toContain(receipt)
  expect(JSON.stringify(message)).not.toContain(String(readPolicy(response).state))
})

type Changes = Readonly<Record<string, unknown>>
const past = Math.floor(Date.now() / 1000) - 3_600

describe('the gateway refuses a receipt, and the requirement stays open,', () => {
  test.each<[string, Changes, number, string, string]>([
    ['another amount', { amount: '0.45' }, 403, 'amount', 'is not what was required'],
    ['an amount that is no number', { amount: '4.5.0' }, 403, 'amount', 'is not what was required'],
    ['another currency', { currency: 'JPY' }, 403, 'currency', 'is not the one that was required'],
    ['another gateway', { aud: 'https://other.test' }, 403, 'aud', 'is another gateway'],
    ['another requirement', { requirement: 'a'.repeat(32) }, 403, 'requirement', 'is another requirement'],
    ['another issuer', { iss: 'https://evil.test' }, 401, 'iss', 'is not the payment provider'],
    ['a time that is over', { iat: past, exp: past + 60 }, 401, 'exp', 'is over'],
    ['a time yet to come', { iat: past + 7_200 }, 401, 'iat', 'is yet to come'],
    ['no jti', { jti: undefined }, 200, 'jti', 'is missing or not well formed'],
  ])('when it is for %s', async (_, changes, status, name, description) => {
    const response = await askToPay()
    const countBefore = await countMessages()
    const refusal = await payTask(response, signReceipt(readPolicy(response), changes))
    expect(refusal).toMatchObject({
      status,
      error: { message: `Cannot take receipt: ${name} ${description}`, violations: [{ field: name, description }] },
    })
    expect(await countMessages()).toBe(countBefore)
    const paidResponse = await payTask(response, signReceipt(readPolicy(response), { amount: '4.5' }))
    expect(paidResponse.task?.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('when somebody else signed it', async () => {
    const response = await askToPay()
    const forgedText = signReceipt(readPolicy(response), {}, { key: strangersKey })
    const message = "Cannot take receipt: signature is not the payment provider's"
    expect(await payTask(response, forgedText)).toMatchObject({ status: 401, error: { message } })
  })

  test('when it has no signature, or another kind of token', async () => {
    const response = await askToPay()
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const unsigned = `${encode({ alg: 'none', typ: 'receipt+jwt' })}.${encode(readPolicy(response))}.AA`
    expect((await payTask(response, unsigned)).error?.message).toBe('Cannot take receipt: alg is not one that counts')
    const token = signReceipt(readPolicy(response), {}, { header: { typ: 'at+jwt' } })
    expect((await payTask(response, token)).error?.message).toBe('Cannot take receipt: typ must be "receipt+jwt"')
    expect((await payTask(response, 'rubbish')).error?.message).toBe(
      'Cannot take receipt: receipt is not a compact JWS',
    )
  })

  test('when it is missing, or nobody has to pay', async () => {
    const response = await askToPay()
    const missingReceipt = [{ field: field('receipt'), description: 'is missing' }]
    expect(await payTask(response, undefined)).toMatchObject({ status: 403, error: { violations: missingReceipt } })
    const consent = await askShop(gateway, 'consent please')
    const resolution = { in_reply_to_state: readPolicy(consent).state, receipt: signReceipt(readPolicy(response)) }
    const fieldErrors = [{ field: field('receipt'), description: 'is not what was asked for' }]
    const taskId = consent.task?.id ?? ''
    expect(await askShop(gateway, 'yes', { taskId, resolution })).toMatchObject({ error: { violations: fieldErrors } })
  })

  test('when it has already paid', async () => {
    const [first, second] = [await askToPay(), await askToPay()]
    const jti = 'the-same'
    expect((await payTask(first, signReceipt(readPolicy(first), { jti }))).error).toBeUndefined()
    expect(await payTask(second, signReceipt(readPolicy(second), { jti }))).toMatchObject({
      status: 403,
      error: { violations: [{ description: 'is paid by a receipt that was used already' }] },
    })
  })
})

describe('a decision', () => {
  const refusal = (description: string) => ({
    status: 403,
    error: {
      message: `Cannot take policy_resolution: in_reply_to_state ${description}`,
      violations: [{ field: field('in_reply_to_state'), description }],
    },
  })

  test('is unknown to a caller for a requirement of another principal', async () => {
    const response = await askToPay()
    const receipt = signReceipt(readPolicy(response))
    const countBefore = await countMessages()
    const stolen = await payTask(response, receipt, { taskId: undefined, sub: 'mallory' })
    expect(stolen).toMatchObject(refusal('is not known'))
    expect(await payTask(response, receipt, { sub: 'mallory' })).toMatchObject({ error: { message: 'Task not found' } })
    expect(await countMessages()).toBe(countBefore)
  })

  test('needs a caller with credentials', async () => {
    const response = await askShop(gateway, 'consent please', { sub: null })
    const resolution = { in_reply_to_state: readPolicy(response).state }
    const answer = await askShop(gateway, 'yes', { taskId: response.task?.id ?? '', resolution, sub: null })
    expect(answer).toMatchObject({
      status: 403,
      error: {
        violations: [{ field: field('outcome'), description: 'counts only from a caller who proves who they are' }],
      },
    })
  })

  test('does not count in another context, nor in another task of the same context', async () => {
    const response = await askToPay()
    const otherResponse = await askToPay()
    const receipt = signReceipt(readPolicy(response))
    const otherConversationRefusal = refusal('belongs to another conversation')
    expect(await payTask(response, receipt, { taskId: otherResponse.task?.id })).toMatchObject(otherConversationRefusal)
    expect(await payTask(response, receipt, { taskId: undefined })).toMatchObject(otherConversationRefusal)
    const localAgent = await askShop(gateway, 'consent please', { contextId: response.task?.contextId ?? '' })
    expect(await payTask(response, receipt, { taskId: localAgent.task?.id })).toMatchObject(otherConversationRefusal)
    const inContext = await payTask(response, receipt, { taskId: undefined, contextId: response.task?.contextId })
    expect(inContext.task?.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('does not count as another kind, nor for a made-up state', async () => {
    const response = await askToPay()
    const { state } = readPolicy(response)
    const taskId = response.task?.id ?? ''
    const kind = { in_reply_to_state: state, kind: 'consent_required' }
    expect(await askShop(gateway, 'yes', { taskId, resolution: kind })).toMatchObject(refusal('is of another kind'))
    const unknown = { in_reply_to_state: 'f'.repeat(43) }
    expect(await askShop(gateway, 'yes', { taskId, resolution: unknown })).toMatchObject(refusal('is not known'))
    const malformed = { in_reply_to_state: 'no state' }
    expect((await askShop(gateway, 'yes', { taskId, resolution: malformed })).error?.message).toBe(
      `Cannot SendMessage: ${field('in_reply_to_state')} must be a state`,
    )
  })

  test('does not count after its task has ended', async () => {
    const response = await askToPay()
    await callShop(gateway, 'CancelTask', { id: response.task?.id })
    const rejection = await payTask(response, signReceipt(readPolicy(response)))
    expect(rejection.error?.message).toBe('Cannot continue task: it has ended')
    const page = new URL(String(readPolicy(response).url)).pathname
    expect((await decide(gateway, page, 'decline')).status).toBe(410)
  })
})

test('the caller may grant or refuse consent in the call', async () => {
  for (const outcome of ['granted', 'declined']) {
    const response = await askShop(gateway, 'consent please')
    const resolution = { in_reply_to_state: readPolicy(response).state, outcome }
    const answer = await askShop(gateway, 'so be it', { taskId: response.task?.id ?? '', resolution })
    expect(readAnswerText(answer)).toBe(
      `decided: consent_required ${outcome} by principal, my state, 7, no receipt; said: so be it`,
    )
  }
})

test('a person pays at the provider and returns, while a click alone pays nothing', async () => {
  const response = await askToPay()
  const policy = readPolicy(response)
  const path = new URL(String(policy.url)).pathname
  const text = await (await fetch(gateway.url() + path)).text()
  const [, href = ''] = /href="(https:\/\/pay\.test[^"]+)"/.exec(text) ?? []
  const checkout = new URL(href.replaceAll('&amp;', '&'))
  expect(Object.fromEntries(checkout.searchParams)).toEqual({
    shop: '7',
    requirement: policy.requirement,
    amount: '4.50',
    currency: 'EUR',
    return_url: `${gatewayOrigin}${path}/receipt`,
  })
  for (const decision of ['grant', 'pay_test']) expect((await decide(gateway, path, decision)).status).toBe(403)
  expect((await decide(gateway, path, 'whatever')).status).toBe(400)

  const receipt = signReceipt(policy)
  const receiptUrl = `${gateway.url()}${path}/receipt?${new URLSearchParams({ receipt })}`
  expect((await fetch(receiptUrl, { method: 'HEAD', redirect: 'manual' })).status).toBe(200)
  const returnedResponse = await fetch(receiptUrl, { redirect: 'manual' })
  expect([returnedResponse.status, returnedResponse.headers.get('location')]).toEqual([303, gatewayOrigin + path])
  expect((await fetch(receiptUrl, { redirect: 'manual' })).status).toBe(303)
  expect(await (await fetch(gateway.url() + path)).text()).toContain('<h1>Paid</h1>')
  const state = async () => {
    const { task } = await callShop(gateway, 'GetTask', { id: response.task?.id })
    return task?.status.state === 'TASK_STATE_COMPLETED' && readAnswerText({ status: 200, task })
  }
  expect(await eventually(state)).toContain('decided: payment_required granted by receipt, my state')
})

test('the provider may report a payment from server to server, once or twice', async () => {
  const response = await askToPay()
  const postCallback = (body: string) => fetch(`${gateway.url()}/payments/callback`, { method: 'POST', body })
  const receipt = signReceipt(readPolicy(response))
  for (let time = 0; time < 2; time += 1) {
    const answer = await postCallback(receipt)
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { requirement: readPolicy(response).requirement, status: 'granted' },
    ])
  }
  const second = await postCallback(signReceipt(readPolicy(response)))
  expect([second.status, await second.json()]).toMatchObject([
    403,
    { detail: 'Cannot take receipt: This has been used already.' },
  ])
  expect((await postCallback(signReceipt({ ...readPolicy(response), requirement: 'b'.repeat(32) }))).status).toBe(404)
  expect((await postCallback('rubbish')).status).toBe(404)
})
