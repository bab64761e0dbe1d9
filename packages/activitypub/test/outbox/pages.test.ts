import type { Agent } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { domain, origin } from '../gateway.ts'
import type { PeerAccount } from '../person.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// The addresses of an agent's posts show pages to browsers.

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'
const activityType = 'application/activity+json'

const agent: Agent = {
  handle: ({ parts }) => {
    const text = parts.map(part => (part.kind === 'text' ? part.content : '')).join('')
    if (text.includes('picture')) {
      const bytes = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64')
      const file = {
        kind: 'file',
        description: 'A "red" cat',
        mime: 'image/png',
        bytes_ref: { kind: 'inline', data_base64: bytes },
      }
      return { parts: [{ kind: 'text', mime: 'text/plain', content: 'Here:' }, file as never] }
    }
    return `heard: ${text}`
  },
}

let stage: Stage

beforeAll(async () => {
  stage = await openStage({ agents: { echo: agent }, config: { block: ['other.test'] } })
  for (const host of ['good.test', 'evil.test']) {
    stage.peer.serve(`https://${host}/inbox`, { status: 202 })
    for (const name of ['alice', 'mallory', 'eve'])
      stage.peer.serve(`https://${host}/users/${name}/inbox`, { status: 202 })
  }
  stage.gateway.work()
})
afterAll(() => stage.close())

async function open(path: string, accept: string | undefined = browser) {
  const answer = await stage.gateway.app.request(path, { headers: accept ? { accept } : {} })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

/** Posts a note to the agent. @returns the path of the answer, and the note's id */
async function converse(person: PeerAccount, note: object = {}, activity: object = {}) {
  const { gateway } = stage
  const composed = composeNote(person, note as never, activity as never)
  expect(await postActivity(gateway, person, composed)).toMatchObject({ status: 202 })
  const record = await vi.waitFor(
    async () => {
      const record = await gateway.store.findMessage(String(composed.id))
      expect(record?.response).toBeTruthy()
      return record
    },
    { timeout: 30_000 },
  )
  const { id } = composed.object as { readonly id: string }
  return { path: `/agents/echo/posts/${record?.response?.id}`, id }
}

test('a browser gets a public post with text, author, date, Open Graph, and the document as an alternate', async () => {
  const { path, id } = await converse(stage.alice, { content: '<p>good morning</p>' })
  const { status, headers, text } = await open(path)
  expect({ status, type: headers.get('content-type') }).toEqual({ status: 200, type: 'text/html; charset=UTF-8' })
  expect(headers.get('vary')).toBe('Accept')
  expect(headers.get('link')).toBe(`<${origin}${path}>; rel="alternate"; type="application/activity+json"`)
  expect(text).toContain(`<link rel="alternate" type="application/activity+json" href="${origin}${path}">`)
  expect(text).toContain('heard: good morning')
  expect(text).toContain(`@echo@${domain}`)
  expect(text).toMatch(/<time datetime="\d{4}-\d\d-\d\dT[\d:.]+Z">\d+ \w+ \d{4} at \d\d:\d\d UTC<\/time>/)
  expect(text).toContain('<meta property="og:type" content="article">')
  expect(text).toContain(`<meta property="og:title" content="The echo (@echo@${domain})">`)
  expect(text).toMatch(/<meta property="og:description" content="@alice heard: good morning">/)
  expect(text).toContain(`<meta property="og:url" content="${origin}${path}">`)
  expect(text).toContain('<meta name="robots" content="noindex">')
  // The page shows the answered post with its author and address.
  expect(text).toContain('<p>good morning</p>')
  expect(text).toContain(`href="${id}"`)
  expect(text).toContain('@alice@good.test')
})

test.each([
  ['what browsers send', browser, 'text/html'],
  ['HTML alone', 'text/html', 'text/html'],
  ['anything', '*/*', 'text/html'],
  ['HTML sooner than the document', 'application/activity+json;q=0.5, text/html;q=0.9', 'text/html'],
  ['the document sooner than HTML', 'text/html;q=0.5, application/activity+json;q=0.9', activityType],
  ['both alike', 'text/html, application/activity+json', activityType],
  ['no HTML', 'text/html;q=0, */*', activityType],
  ['JSON', 'application/json', activityType],
  ['the document by its profile', 'application/ld+json; profile="https://www.w3.org/ns/activitystreams"', activityType],
  ['nothing', '', activityType],
])('a client that accepts %s gets that form with a Vary header', async (_, accept, type) => {
  const { path } = await converse(stage.alice)
  const { status, headers } = await open(path, accept)
  expect({ status, type: headers.get('content-type')?.split(';')[0] }).toEqual({ status: 200, type })
  expect(headers.get('vary')).toBe('Accept')
})

test('the page lists only the public replies to the post, with their answers', async () => {
  const { path } = await converse(stage.alice, { content: '<p>first</p>' })
  const inReplyTo = `${origin}${path}`
  const reply = await converse(stage.mallory, { inReplyTo, content: '<p>a public reply</p>' })
  const direct = { to: [`${origin}/agents/echo`], cc: [] }
  await converse(stage.alice, { inReplyTo, content: '<p>a secret reply</p>', ...direct }, direct)
  const { text } = await open(path)
  expect(text).toContain('<p>a public reply</p>')
  expect(text).toContain(`<a href="${origin}${reply.path}">The answer to this</a>`)
  expect(text).not.toContain('secret')
})

test('the page shows a reply in its current form after an edit or a deletion', async () => {
  const { path } = await converse(stage.alice, { content: '<p>beginning</p>' })
  const inReplyTo = `${origin}${path}`
  const editedReply = await converse(stage.mallory, { inReplyTo, content: '<p>misspelt</p>' })
  const deletedReply = await converse(stage.alice, { inReplyTo, content: '<p>regretted</p>' })
  const updated = composeNote(stage.mallory, { id: editedReply.id, inReplyTo, content: '<p>well spelt</p>' })
  const update = { ...updated, id: `${editedReply.id}#update`, type: 'Update' }
  expect(await postActivity(stage.gateway, stage.mallory, update)).toMatchObject({ status: 202 })
  const { id: actor } = stage.alice
  const deletion = { id: `${deletedReply.id}#delete`, type: 'Delete', actor, object: deletedReply.id, to: updated.to }
  const context = 'https://www.w3.org/ns/activitystreams'
  expect(await postActivity(stage.gateway, stage.alice, { '@context': context, ...deletion })).toMatchObject({
    status: 202,
  })
  await vi.waitFor(async () => {
    const { text } = await open(path)
    expect(text).toContain('well spelt')
    expect(text).not.toMatch(/misspelt|regretted/)
  })
})

test('the page drops a public reply that its author makes direct', async () => {
  const { path } = await converse(stage.alice, { content: '<p>open</p>' })
  const inReplyTo = `${origin}${path}`
  const { id } = await converse(stage.mallory, { inReplyTo, content: '<p>too public</p>' })
  expect((await open(path)).text).toContain('too public')
  const direct = { to: [`${origin}/agents/echo`], cc: [] }
  const note = composeNote(stage.mallory, { id, inReplyTo, content: '<p>too public, still</p>', ...direct }, direct)
  await postActivity(stage.gateway, stage.mallory, { ...note, id: `${id}#narrowed`, type: 'Update' })
  await vi.waitFor(async () => expect((await open(path)).text).not.toContain('too public'))
})

test('a non-public post has no page, neither for strangers nor for its recipients', async () => {
  const direct = { to: [`${origin}/agents/echo`], cc: [] }
  const { path } = await converse(stage.alice, { content: '<p>secret</p>', ...direct }, direct)
  for (const address of [path, `${path}.2`, '/agents/echo/posts/unknown', '/agents/nobody/posts/1']) {
    const { status, headers, text } = await open(address)
    expect({ address, status, type: headers.get('content-type') }).toMatchObject({
      status: 404,
      type: 'text/html; charset=UTF-8',
    })
    expect(text).not.toContain('secret')
  }
})

test('a deleted post answers 410 for browsers too', async () => {
  const { path } = await converse(stage.alice)
  const post = path.split('/').at(-1) ?? ''
  const planned = { kind: 'delete', response: post, deliveryPlan: { deliveries: [] } } as const
  await stage.gateway.store.storeActions([planned], 'c')
  expect(await open(path)).toMatchObject({ status: 410 })
  expect(await open(path, activityType)).toMatchObject({ status: 410 })
})

test('the page and previews show an agent’s picture with its alt text', async () => {
  const { path } = await converse(stage.alice, { content: '<p>a picture</p>' })
  const { text, headers } = await open(path)
  const [, address = ''] = /<img class="media" src="([^"]*)" alt="A &quot;red&quot; cat"/.exec(text) ?? []
  expect(address).toMatch(new RegExp(`^${origin}/attachments/[0-9a-f]{64}`))
  expect(text).toContain(`<meta property="og:image" content="${address}">`)
  expect(headers.get('content-security-policy')).toContain("img-src 'self';")
})

/** A text for every member that a peer chooses, which tries to break out of its place in the HTML. */
const attack = '"\'><script>alert(1)</script><img src=x onerror=alert(1)>\u202e&lt;'

test('the page escapes markup in the text of a peer', async () => {
  const { peer } = stage
  const eve = settlePerson(peer, 'eve@evil.test', {
    document: { name: attack, url: `https://evil.test/"onmouseover="alert(1)` },
  })
  const note = {
    content: attack.replaceAll('<', '&lt;'),
    summary: attack.replaceAll('<', '&lt;'),
    sensitive: true,
    contentMap: { 'en"><script>': attack },
    context: `https://evil.test/c"><script>alert(1)</script>`,
    attachment: [
      { type: 'Document', url: 'javascript:alert(1)', name: attack, mediaType: 'image/png' },
      { type: 'Document', url: 'https://evil.test/a.png"onerror="alert(1)', name: attack, mediaType: 'image/png' },
      { type: 'Link', href: 'https://evil.test/"><script>alert(1)</script>', name: attack },
    ],
  }
  const first = await converse(eve, { ...note, id: `https://evil.test/notes/1"><script>alert(1)</script>` })
  await converse(eve, {
    ...note,
    inReplyTo: `${origin}${first.path}`,
    id: `https://evil.test/notes/2"><svg onload=alert(1)>`,
  })
  const { text, headers } = await open(first.path)
  expect(text).toContain('alert(1)')
  expect(readTags(text).filter(tag => !isOurs(tag))).toEqual([])
  expect(text).not.toContain('\u202e')
  const policy = headers.get('content-security-policy') ?? ''
  expect(policy).toMatch(/^default-src 'none'; script-src 'none'; style-src 'sha256-/)
  expect(policy).not.toMatch(/unsafe|evil/)
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  const feed = await open('/agents/echo/feed.atom', '*/*')
  expect(feed.text).not.toMatch(/<script|<img/)
})

/** Returns the tags of a page as the HTML tokenizer finds them. */
function readTags(page: string): readonly string[] {
  return page.match(/<[a-z!/](?:"[^"]*"|[^>"])*>/gi) ?? []
}

const postNames = new Set(
  '!doctype html head meta title link style body main h1 h2 p div span strong a article details summary time footer code br'.split(
    ' ',
  ),
)

function isOurs(tag: string): boolean {
  const [, name = ''] = /^<\/?([!a-z0-9]+)/i.exec(tag) ?? []
  const bare = tag.replace(/"[^"]*"/g, '""')
  const links = [...tag.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, address = '']) => address)
  return (
    postNames.has(name.toLowerCase()) && !/\son\w+=/i.test(bare) && links.every(link => /^(https?:\/\/|\/)/.test(link))
  )
}

test('the page hides a blocked peer, and does not link a blocked URL', async () => {
  const { path, id } = await converse(stage.mallory, { content: '<p>from a server</p>' })
  const { gateway } = stage
  expect((await open(path)).text).toContain('from a server')
  const strict = await openStage({
    agents: { echo: agent },
    config: { block: ['evil.test'] },
    watchStore: () => gateway.store,
  })
  const answer = await strict.gateway.app.request(path, { headers: { accept: browser } })
  const text = await answer.text()
  expect(answer.status).toBe(200)
  expect(text).not.toContain('from a server</p>\n')
  expect(text).not.toContain(id)
  await strict.peer.close()
})

test('the Atom feed contains ids, dates, texts and links of the public posts, newest first', async () => {
  await converse(stage.alice, { content: '<p>older</p>' })
  const { path } = await converse(stage.alice, { content: '<p>newer & <b>bold</b></p>' })
  const { status, headers, text } = await open('/agents/echo/feed.atom', '*/*')
  expect({ status, type: headers.get('content-type') }).toEqual({
    status: 200,
    type: 'application/atom+xml; charset=utf-8',
  })
  expect(text).toContain(`<link rel="self" type="application/atom+xml" href="${origin}/agents/echo/feed.atom"/>`)
  const [first = ''] = text.split('<entry').slice(1)
  expect(first).toContain(`<id>${origin}${path}</id>`)
  expect(first).toContain('newer &amp;amp; bold')
  expect(text.indexOf('newer')).toBeLessThan(text.indexOf('older'))
  expect(text).not.toContain('secret')
  expect(await open('/agents/nobody/feed.atom')).toMatchObject({ status: 404 })
})

test('discovery.readProfile() returns the public posts and facts as safe HTML', async () => {
  const { channel } = stage.gateway
  await converse(stage.alice, { content: '<p>last</p>' })
  const life = await channel.discovery?.readProfile?.('echo')
  expect(life).toMatchObject({
    bio: '<p>It is echo.</p>',
    followers: 0,
    follows: 'open',
    feed: `${origin}/agents/echo/feed.atom`,
  })
  expect(life?.posts[0]).toContain('heard: last')
  expect(life?.posts.join('')).not.toContain('secret')
  await expect(channel.discovery?.readProfile?.('nobody')).rejects.toMatchObject({ code: 'no_recipient' })
})

test('with signed fetches only, there are no pages for browsers', async () => {
  const { path } = await converse(stage.alice)
  const { gateway } = stage
  const strict = await openStage({
    agents: { echo: agent },
    config: { require_signed_fetch: true },
    watchStore: () => gateway.store,
  })
  for (const address of [path, '/agents/echo/feed.atom']) {
    expect((await strict.gateway.app.request(address, { headers: { accept: browser } })).status).toBe(401)
  }
  expect(await strict.gateway.channel.discovery?.readProfile?.('echo')).toMatchObject({ posts: [] })
  await strict.peer.close()
})
