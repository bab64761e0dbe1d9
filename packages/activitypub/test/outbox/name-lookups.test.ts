import type { FetchAnswer } from '@postern/message'
import { expect, test } from 'vitest'
import type { RemoteActor } from '../../src/peers/actor-document.ts'
import { createHandles } from '../../src/webfinger/handles.ts'

/** Makes every name of evil.test and its sub-domains claim to be of victim.test. Returns the number of requests there. */
function openHandles() {
  const countsByHost = new Map<string, number>()
  let now = 0
  async function fetch(url: string): Promise<FetchAnswer> {
    const { host, searchParams } = new URL(url)
    countsByHost.set(host, (countsByHost.get(host) ?? 0) + 1)
    if (host === 'redirects.test') {
      const headers = new Headers({ location: 'https://victim.test/search?q=expensive' })
      return { status: 302, headers, body: Buffer.alloc(0), url } as FetchAnswer
    }
    const [user = '', at = ''] = (searchParams.get('resource') ?? '').replace('acct:', '').split('@')
    const href = `https://${at}/users/${user}`
    const links = [{ rel: 'self', type: 'application/activity+json', href }]
    const body = Buffer.from(JSON.stringify({ subject: `acct:${user}@victim.test`, links }))
    return { status: 200, headers: new Headers({ 'content-type': 'application/jrd+json' }), body, url } as FetchAnswer
  }
  const handles = createHandles({ fetch, now: () => now, isBlocked: () => false })
  const confirm = (username: string, host: string) =>
    handles.confirm({ id: `https://${host}/users/${username}`, host, username } as RemoteActor)
  return { asked: countsByHost, confirm, resolve: handles.resolve, pass: (ms: number) => (now += ms) }
}

test('names that claim a foreign domain cause at most sixty requests a minute there (AP-44)', async () => {
  const { asked, confirm, pass } = openHandles()
  for (let at = 0; at < 200; at += 1) await confirm(`u${at}`, 'evil.test')
  expect(Object.fromEntries(asked)).toEqual({ 'evil.test': 200, 'victim.test': 60 })
  // Other names of that domain are not delayed by the limit.
  await confirm('alice', 'social.test')
  expect(asked.get('victim.test')).toBe(61)
  pass(60_000)
  await confirm('later', 'evil.test')
  expect(asked.get('victim.test')).toBe(62)
})

test('the gateway resolves at most six hundred names of a domain a minute, from any number of hosts (AP-44)', async () => {
  const { asked, confirm } = openHandles()
  for (let at = 0; at < 1_000; at += 1) await confirm('u', `h${at}.evil.test`)
  expect(asked.get('victim.test')).toBe(600)
})

test('a redirect counts like a name (AP-44)', async () => {
  const { asked, confirm } = openHandles()
  for (let at = 0; at < 200; at += 1) await confirm(`u${at}`, 'redirects.test')
  expect(Object.fromEntries(asked)).toEqual({ 'redirects.test': 200, 'victim.test': 60 })
})

test('the gateway resolves at most sixty names a minute on one domain from the text of answers', async () => {
  const { asked, resolve } = openHandles()
  for (let at = 0; at < 60; at += 1) await resolve(`@u${at}@victim.test`, { isRateLimited: true })
  await expect(resolve('@one-more@victim.test', { isRateLimited: true })).rejects.toMatchObject({
    code: 'rate_limited',
  })
  expect(asked.get('victim.test')).toBe(60)
  // The limit does not apply to names that an agent chose itself, or to known ones.
  await resolve('@chosen@victim.test')
  await resolve('@u1@victim.test', { isRateLimited: true })
  expect(asked.get('victim.test')).toBe(61)
})
