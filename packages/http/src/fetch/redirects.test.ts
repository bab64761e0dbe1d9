import type { RequestListener } from 'node:http'
import { Undeliverable } from '@postern/message'
import { afterEach, expect, test } from 'vitest'
import type { TestListener } from '../../test/listener.ts'
import { openHttpListener } from '../../test/listener.ts'
import { createGuardedFetch } from './guarded-fetch.ts'

const open: { close(): unknown }[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map(listener => listener.close()))
})

/** Both hosts redirect `/to?<target>` with `status`, and answer whatever else is asked. */
async function openTwoHosts(status = 302) {
  const answer: RequestListener = ({ url = '', headers }, response) => {
    const location = /^\/to\?(.*)$/.exec(url)?.[1]
    response
      .writeHead(location ? status : 200, location ? { location: decodeURIComponent(location) } : {})
      .end(headers.host)
  }
  const [a, b] = [await openHttpListener(answer), await openHttpListener(answer)]
  const fetch = createGuardedFetch({ userAgent: 'Postern/0.1', loopback: { 'a.test': a.port, 'b.test': b.port } })
  open.push(a, b, fetch)
  return { a, b, fetch }
}

const to = (target: string) => `https://a.test/to?${encodeURIComponent(target)}`

test('createGuardedFetch() follows a redirect only when the caller asks for it (A2A-P05)', async () => {
  const { b, fetch } = await openTwoHosts()
  const answer = await fetch(to('https://b.test/'))
  expect(answer.status).toBe(302)
  expect(answer.headers.get('location')).toBe('https://b.test/')
  expect(b.connections()).toBe(0)
})

test.each([301, 302, 303, 307, 308])('createGuardedFetch() follows %d and returns the final URL', async status => {
  const { fetch } = await openTwoHosts(status)
  const answer = await fetch(to('https://b.test/x#y'), { redirects: 1 })
  expect(answer.url).toBe('https://b.test/x')
  expect(Buffer.from(answer.body).toString()).toBe('b.test')
})

test.each([300, 304, 305])('createGuardedFetch() does not follow %d', async status => {
  const { b, fetch } = await openTwoHosts(status)
  expect((await fetch(to('https://b.test/'), { redirects: 3 })).status).toBe(status)
  expect(b.connections()).toBe(0)
})

test('createGuardedFetch() follows a relative redirect', async () => {
  const { fetch } = await openTwoHosts()
  expect((await fetch(to('/x'), { redirects: 1 })).url).toBe('https://a.test/x')
})

test('createGuardedFetch() never follows a redirect of a POST', async () => {
  const { b, fetch } = await openTwoHosts(307)
  expect((await fetch(to('https://b.test/'), { method: 'POST', body: 'x', redirects: 3 })).status).toBe(307)
  expect(b.connections()).toBe(0)
})

test('signatures and credentials do not follow a redirect to another origin (AP-34)', async () => {
  const { b, fetch } = await openTwoHosts()
  const headers = {
    authorization: 'Bearer t',
    signature: 's',
    'signature-input': 'i',
    'x-token': 't',
    accept: 'text/plain',
  }
  await fetch(to('https://b.test/'), { headers, redirects: 1 })
  expect(b.requests[0]?.headers).toEqual({
    host: 'b.test',
    accept: 'text/plain',
    'user-agent': 'Postern/0.1',
    'accept-encoding': 'identity',
    connection: 'keep-alive',
  })
})

test('headers remain at a redirect within the origin, and do not return after one to another origin', async () => {
  const { a, b, fetch } = await openTwoHosts()
  const byB = `https://b.test/to?${encodeURIComponent('https://a.test/x')}`
  const target = to(to(byB))
  await fetch(target, { headers: { authorization: 'Bearer t' }, redirects: 3 })
  expect(a.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer t', 'Bearer t', undefined])
  expect(b.requests.map(({ headers }) => headers.authorization)).toEqual([undefined])
})

test.each([
  ['A2A-P05 and AP-34: a private address', 'https://127.0.0.1/', 'address is not public'],
  ['A2A-P05: a name that never is public', 'https://metadata.google.internal/', 'address is not public'],
  ['A2A-P05: another port', 'https://b.test:22/', 'port is not 443'],
  ['AP-36: http', 'http://b.test/', 'redirect changes the scheme'],
  ['AP-36: file', 'file:///etc/passwd', 'redirect changes the scheme'],
  ['AP-36: data', 'data:text/plain,x', 'redirect changes the scheme'],
  ['credentials', 'https://a:b@b.test/', 'URL contains credentials'],
  ['no URL', 'https://[', 'redirect leads to no URL'],
])('createGuardedFetch() refuses a redirect to %s', async (_, target, problem) => {
  const { b, fetch } = await openTwoHosts()
  await expect(fetch(to(target), { redirects: 3 })).rejects.toThrow(new Undeliverable(`Cannot fetch: ${problem}`))
  expect(b.connections()).toBe(0)
})

test('createGuardedFetch() refuses a redirect to a name with a private address (AP-34)', async () => {
  const a = await redirector('https://peer.example/')
  const lookup = async () => ['192.168.0.1']
  const fetch = createGuardedFetch({ userAgent: 'x', loopback: { 'a.test': a.port }, lookup })
  open.push(fetch)
  await expect(fetch('https://a.test/', { redirects: 3 })).rejects.toThrow(
    new Undeliverable('Cannot fetch: address is not public'),
  )
})

test('a redirect loop ends after the caller’s limit of hops (AP-36)', async () => {
  const a = await redirector('https://a.test/')
  const fetch = createGuardedFetch({ userAgent: 'x', loopback: { 'a.test': a.port } })
  open.push(fetch)
  await expect(fetch('https://a.test/', { redirects: 3 })).rejects.toThrow(
    new Undeliverable('Cannot fetch: too many redirects'),
  )
  expect(a.requests).toHaveLength(4)
})

async function redirector(location: string): Promise<TestListener> {
  const listener = await openHttpListener((_, response) => response.writeHead(302, { location }).end())
  open.push(listener)
  return listener
}
