import { text } from 'node:stream/consumers'
import { Undeliverable } from '@postern/core'
import { afterEach, expect, test } from 'vitest'
import { openHttpListener } from '../../test/listener.ts'
import { createGuardedFetch } from './guarded-fetch.ts'
import { toStandardFetch } from './standard-fetch.ts'

const open: { close(): unknown }[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map(thing => thing.close()))
})

async function openStandard(answer: Parameters<typeof openHttpListener>[0]) {
  const listener = await openHttpListener(answer)
  const guarded = createGuardedFetch({ userAgent: 'x', loopback: { 'a.test': listener.port } })
  open.push(listener, guarded)
  return { listener, fetch: toStandardFetch(guarded) }
}

const echo: Parameters<typeof openHttpListener>[0] = async (request, response) => {
  const { method, url, headers } = request
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ method, url, type: headers['content-type'], body: await text(request) }))
}

test('toStandardFetch() passes method, headers and body, given as text, URL or Request', async () => {
  const { fetch } = await openStandard(echo)
  const init = { method: 'POST', headers: { 'content-type': 'text/x' }, body: 'é' }
  const answer = await fetch('https://a.test/x', init)
  expect(answer.url).toBe('https://a.test/x')
  expect(answer.headers.get('content-type')).toBe('application/json')
  const expected = { method: 'POST', url: '/x', type: 'text/x', body: 'é' }
  expect(await answer.json()).toEqual(expected)
  expect(await (await fetch(new URL('https://a.test/x'), init)).json()).toEqual(expected)
  expect(await (await fetch(new Request('https://a.test/x', init))).json()).toEqual(expected)
})

test('toStandardFetch() sends a form as a form', async () => {
  const { fetch } = await openStandard(echo)
  const body = new URLSearchParams({ grant_type: 'client_credentials' })
  const answer = await fetch('https://a.test/', { method: 'POST', body })
  expect(await answer.json()).toMatchObject({
    type: 'application/x-www-form-urlencoded;charset=UTF-8',
    body: 'grant_type=client_credentials',
  })
})

test.each([204, 304])('toStandardFetch() hands over %d, which has no body', async status => {
  const { fetch } = await openStandard((_, response) => response.writeHead(status).end())
  const answer = await fetch('https://a.test/')
  expect(answer.status).toBe(status)
  expect(answer.body).toBeNull()
})

test('toStandardFetch() follows, hands over or refuses a redirect, as asked', async () => {
  const { fetch } = await openStandard(({ url }, response) => {
    if (url === '/') response.writeHead(302, { location: '/next' })
    response.end(url)
  })
  expect((await fetch('https://a.test/')).url).toBe('https://a.test/next')
  expect((await fetch('https://a.test/', { redirect: 'manual' })).status).toBe(302)
  await expect(fetch('https://a.test/', { redirect: 'error' })).rejects.toThrow(
    new TypeError('redirect is not allowed here'),
  )
})

test('toStandardFetch() is guarded', async () => {
  const { fetch } = await openStandard(echo)
  await expect(fetch('https://127.0.0.1/')).rejects.toThrow(new Undeliverable('Cannot fetch: address is not public'))
})

test("toStandardFetch() rejects with the signal's own reason", async () => {
  const giveUp = new AbortController()
  const reason = new DOMException('enough', 'AbortError')
  const { fetch } = await openStandard(() => giveUp.abort(reason))
  await expect(fetch('https://a.test/', { signal: giveUp.signal })).rejects.toBe(reason)
})

test('toStandardFetch() refuses a method we do not speak, and sends nothing', async () => {
  const { fetch, listener } = await openStandard(echo)
  await expect(fetch('https://a.test/', { method: 'DELETE' })).rejects.toThrow(
    new TypeError('the method DELETE is not supported here'),
  )
  expect(listener.connections()).toBe(0)
})
