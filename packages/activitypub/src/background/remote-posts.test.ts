import { Unavailable, Undeliverable } from '@postern/message'
import { expect, test } from 'vitest'
import { parseIri } from '../format/iri.ts'
import type { FetchedDocument } from '../peers/fetched-document.ts'
import { createPostFinder } from './remote-posts.ts'

const host = 'https://peer.test'

function toPost(id: string): FetchedDocument {
  const to = 'https://www.w3.org/ns/activitystreams#Public'
  return { state: 'found', document: { id, type: 'Note', attributedTo: `${host}/ada`, content: 'words', to } }
}

/** Serves posts of one host by `serve`, with the requests that it got and a clock that does not move. */
function openPosts(serve: (iri: string) => Promise<FetchedDocument>) {
  const clock = { ms: 0 }
  const requestedUrls: string[] = []
  const fetchDocument = (iri: string) => {
    requestedUrls.push(iri)
    return serve(iri)
  }
  const find = createPostFinder({ fetchDocument, isBlocked: () => false, now: () => clock.ms })
  return { clock, asked: requestedUrls, find: (id: string) => find(parseIri(id, 'it')) }
}

test('find() keeps a post for ten minutes', async () => {
  const { clock, asked, find } = openPosts(async id => toPost(id))
  const first = await find(`${host}/1`)
  expect(first).toMatchObject({ id: `${host}/1`, author: { href: `${host}/ada` }, parts: [{ content: 'words' }] })
  clock.ms = 599_999
  expect(await find(`${host}/1`)).toBe(first)
  expect(asked).toHaveLength(1)
  clock.ms = 600_000
  await find(`${host}/1`)
  expect(asked).toHaveLength(2)
})

test('find() remembers a missing post for five minutes', async () => {
  const { clock, asked, find } = openPosts(async () => {
    throw new Undeliverable('refused')
  })
  for (clock.ms = 0; clock.ms < 300_000; clock.ms += 100_000) expect(await find(`${host}/1`)).toBeUndefined()
  expect(asked).toHaveLength(1)
  await find(`${host}/1`)
  expect(asked).toHaveLength(2)
})

test('find() fetches one post of a host at a time, and each post only once', async () => {
  let running = 0
  const { asked, find } = openPosts(async id => {
    running += 1
    expect(running).toBe(1)
    await Promise.resolve()
    running -= 1
    return toPost(id)
  })
  const ids = [1, 2, 3, 1, 2, 3].map(number => `${host}/${number}`)
  const posts = await Promise.all(ids.map(find))
  expect(posts.map(post => post?.id)).toEqual(ids)
  expect(asked).toEqual(ids.slice(0, 3))
})

test('find() queues at most sixteen fetches of one host, while other hosts continue (AP-37)', async () => {
  const slow = Promise.withResolvers<void>()
  const { asked, find } = openPosts(async id => {
    if (id.startsWith(host)) await slow.promise
    return toPost(id)
  })
  const waiting = Array.from({ length: 17 }, (_, number) => find(`${host}/${number}`))
  expect(await waiting[16]).toBeUndefined()
  await find('https://other.test/1')
  slow.resolve()
  const posts = await Promise.all(waiting)
  expect(posts.filter(post => post !== undefined)).toHaveLength(16)
  expect(asked).toEqual([`${host}/0`, 'https://other.test/1', ...posts.slice(1, 16).map(post => post?.id)])
})

test('find() fetches at most 120 posts a minute from one host on behalf of strangers', async () => {
  const { clock, asked, find } = openPosts(async id => toPost(id))
  for (let number = 0; number < 200; number += 1) await find(`${host}/${number}`)
  expect(asked).toHaveLength(120)
  await find('https://other.test/1')
  expect(asked).toHaveLength(121)
  clock.ms = 60_000
  expect(await find(`${host}/199`)).toBeDefined()
})

test('find() does not wait for a host that has already used three seconds', async () => {
  const { clock, asked, find } = openPosts(() => new Promise(() => {}))
  find(`${host}/1`)
  clock.ms = 3_000
  expect(await find(`${host}/1`)).toBeUndefined()
  expect(await find(`${host}/2`)).toBeUndefined()
  expect(asked).toEqual([`${host}/1`])
})

test('find() retries a host that did not answer only after a minute', async () => {
  const { clock, asked, find } = openPosts(async () => {
    throw new Unavailable('no answer')
  })
  const both = [`${host}/1`, `${host}/2`]
  for (const at of [0, 59_999]) {
    clock.ms = at
    expect(await Promise.all(both.map(find))).toEqual([undefined, undefined])
  }
  expect(asked).toEqual([`${host}/1`])
  clock.ms = 60_000
  await find(`${host}/2`)
  expect(asked).toEqual(both)
})

test('find() still asks a host where one URL fails, but does not repeat that URL at once', async () => {
  const { asked, find } = openPosts(async id => {
    if (id.endsWith('/bad')) throw new Unavailable('the answer is 500', { status: 500 })
    return toPost(id)
  })
  expect(await find(`${host}/bad`)).toBeUndefined()
  expect(await find(`${host}/bad`)).toBeUndefined()
  expect(await find(`${host}/1`)).toBeDefined()
  expect(asked).toEqual([`${host}/bad`, `${host}/1`])
})

test.each([429, 503])('find() pauses requests to a host that answers %s', async status => {
  const { asked, find } = openPosts(async () => {
    throw new Unavailable('wait', { status })
  })
  for (const number of [1, 2]) expect(await find(`${host}/${number}`)).toBeUndefined()
  expect(asked).toEqual([`${host}/1`])
})

test('find() rethrows an internal error', async () => {
  const bug = new TypeError('not a function')
  await expect(openPosts(() => Promise.reject(bug)).find(`${host}/1`)).rejects.toBe(bug)
})
