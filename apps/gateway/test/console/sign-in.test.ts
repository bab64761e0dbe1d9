import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway, operatorToken } from '../setup/gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await openTestGateway()
})
afterAll(() => gateway.close())

interface SignInRequest {
  readonly body?: object
  readonly cookie?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: string
}

/** Sends a request like the console's own page; `headers` replace its own. */
function fetchAsPage(
  path: string,
  { body, cookie, headers = {}, method = 'POST' }: SignInRequest = {},
): Promise<Response> {
  const ownFields: Record<string, string> = {
    origin: gateway.url(),
    'x-postern-console': '1',
    'content-type': 'application/json',
    ...(cookie !== undefined && { cookie }),
    ...headers,
  }
  const sentHeaders = Object.fromEntries(Object.entries(ownFields).filter(([, value]) => value !== ''))
  return fetch(`${gateway.url()}${path}`, { method, headers: sentHeaders, ...(body && { body: JSON.stringify(body) }) })
}

async function signIn(): Promise<string> {
  const response = await fetchAsPage('/operator/session', { body: { token: operatorToken } })
  expect(response.status).toBe(200)
  return (response.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
}

const listStatus = async (cookie: string) =>
  (await fetch(`${gateway.url()}/operator/api/messages`, { headers: { cookie } })).status

test('the operator token becomes a session cookie that scripts and other sites cannot use', async () => {
  const response = await fetchAsPage('/operator/session', { body: { token: operatorToken } })
  const cookie = response.headers.get('set-cookie') ?? ''
  expect(cookie).toMatch(/^postern_operator=[\w-]{43}; Max-Age=43200; Path=\/operator; HttpOnly; SameSite=Strict$/)
  expect(await listStatus(cookie.split(';')[0] ?? '')).toBe(200)
  expect(await listStatus('postern_operator=AAAA')).toBe(401)
  expect(await listStatus('')).toBe(401)
})

test('a browser never sends the cookie without TLS when the console uses https', async () => {
  const headers = { origin: 'https://agents.test' }
  const response = await fetchAsPage('/operator/session', { body: { token: operatorToken }, headers })
  expect(response.headers.get('set-cookie')).toContain('; Secure;')
})

test('a cookie that somebody else chose never becomes a session', async () => {
  const chosenCookie = `postern_operator=${'A'.repeat(43)}`
  const response = await fetchAsPage('/operator/session', { body: { token: operatorToken }, cookie: chosenCookie })
  const ownCookie = (response.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  expect(ownCookie).not.toBe(chosenCookie)
  expect([await listStatus(ownCookie), await listStatus(chosenCookie)]).toEqual([200, 401])
  // Each sign-in has a session of its own, and ends no other session.
  const secondCookie = await signIn()
  expect(secondCookie).not.toBe(ownCookie)
  expect(await listStatus(ownCookie)).toBe(200)
})

test('an open event stream ends after the sign-out', async () => {
  const cookie = await signIn()
  const response = await fetch(`${gateway.url()}/operator/api/events`, { headers: { cookie } })
  expect(response.status).toBe(200)
  const text = response.text()
  expect((await fetchAsPage('/operator/session', { cookie, method: 'DELETE' })).ok).toBe(true)
  expect(await text).toContain('event: ready')
})

test('the code of a link opens only one session', async () => {
  const code = gateway.gateway().createSignInCode()
  const first = await fetchAsPage('/operator/session', { body: { code } })
  expect(first.status).toBe(200)
  const second = await fetchAsPage('/operator/session', { body: { code } })
  expect([second.status, await second.json()]).toMatchObject([403, { detail: expect.stringContaining('used before') }])
})

test('signing out ends the session for everyone with its cookie', async () => {
  const cookie = await signIn()
  expect(await listStatus(cookie)).toBe(200)
  expect((await fetchAsPage('/operator/session', { method: 'DELETE', cookie })).status).toBe(200)
  expect(await listStatus(cookie)).toBe(401)
})

test('a session survives a restart of the gateway, but not a new operator token', async () => {
  const cookie = await signIn()
  await gateway.restart()
  expect(await listStatus(cookie)).toBe(200)
  expect((await fetchAsPage('/operator/session', { method: 'GET', cookie })).status).toBe(200)
})

const foreignRequests: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['without the header that only a script of the page sends', { 'x-postern-console': '' }],
  ['from another origin', { origin: 'https://evil.test' }],
  ['without an origin', { origin: '' }],
  ['from a sandboxed frame', { origin: 'null' }],
  ['that the browser calls cross-site', { 'sec-fetch-site': 'cross-site' }],
  ['that the browser calls same-site', { 'sec-fetch-site': 'same-site' }],
]

test.each(foreignRequests)('a session cannot change anything by a request %s', async (_, headers) => {
  const cookie = await signIn()
  const response = await fetchAsPage('/operator/api/vacuum', { cookie, headers })
  expect(response.status).toBe(403)
  expect((await fetchAsPage('/operator/api/vacuum', { cookie })).status).toBe(200)
})

test.each(foreignRequests)('nobody can sign in by a request %s', async (_, headers) => {
  const response = await fetchAsPage('/operator/session', { body: { token: operatorToken }, headers })
  expect([response.status, response.headers.get('set-cookie')]).toEqual([403, null])
})

test('the gateway refuses a wrong token together with a valid session', async () => {
  const cookie = await signIn()
  const headers = { cookie, authorization: 'Bearer wrong' }
  expect((await fetch(`${gateway.url()}/operator/api/messages`, { headers })).status).toBe(401)
})

test('the gateway limits failed sign-ins, without delaying somebody with the token elsewhere', async () => {
  const statuses: number[] = []
  for (let index = 0; index < 12; index += 1)
    statuses.push((await fetchAsPage('/operator/session', { body: { token: `wrong-${index}` } })).status)
  expect(statuses.slice(0, 10)).toEqual(Array(10).fill(403))
  expect(statuses.at(-1)).toBe(429)
  const otherNetwork = { 'x-forwarded-for': '192.0.2.9' }
  expect(
    (await fetchAsPage('/operator/session', { body: { token: operatorToken }, headers: otherNetwork })).status,
  ).toBe(200)
})
