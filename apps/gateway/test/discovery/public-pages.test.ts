import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { gatewayOrigin, openTestGateway } from '../setup/gateway.ts'

// These tests use a whole gateway with an agent that has a picture, and with lists of domains.

const folder = mkdtempSync(join(tmpdir(), 'postern-face-'))
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const icon = join(folder, 'icon.png')
const blocks = join(folder, 'blocks.csv')

let gateway: TestGateway

beforeAll(async () => {
  writeFileSync(icon, png)
  writeFileSync(
    blocks,
    '#domain,#severity,#obfuscate\nevil.test,suspend,false\nsnac.test,silence,false\nx***y.test,suspend,true\n',
  )
  const fields = [{ name: 'Source', value: 'https://example.com/code' }]
  gateway = await openTestGateway(() => ({
    agents: { echo: { use: 'builtin:echo', icon, fields, discoverable: true } },
    activitypub: { block_files: [blocks] },
  }))
})
afterAll(() => gateway.close())

const requestAs = (address: string, accept: string) =>
  gateway.simulation.loopback.request(address, { headers: { accept } })

test('other servers can load the actor’s picture', async () => {
  const answer = await requestAs(`${gatewayOrigin}/agents/echo`, 'application/activity+json')
  const actor = JSON.parse(answer.body.toString())
  expect(actor).toMatchObject({ discoverable: true, indexable: false, attachment: [{ name: 'Source' }] })
  expect(actor.icon.mediaType).toBe('image/png')
  const picture = await gateway.simulation.loopback.fetch(actor.icon.url, { headers: { accept: 'image/*' } })
  expect({ status: picture.status, type: picture.headers.get('content-type') }).toEqual({
    status: 200,
    type: 'image/png',
  })
  expect(Buffer.from(await picture.arrayBuffer())).toEqual(png)
})

test('the page shows people the same profile', async () => {
  const page = (await requestAs(`${gatewayOrigin}/agents/echo`, 'text/html')).body.toString()
  expect(page).toMatch(/<img src="https:\/\/agents\.test\/agents\/echo\/icon\/[0-9a-f]{16}\.png"/)
  expect(page).toContain('<a href="https://example.com/code" rel="me nofollow noopener">')
})

test('a browser that opens a post of the agent sees it, and the agent’s page lists it', async () => {
  const text = 'Is the library open?'
  await gateway.simulation.send({ via: 'activitypub', to: 'echo', text })
  const outbox = JSON.parse(
    (await requestAs(`${gatewayOrigin}/agents/echo/outbox?page=true`, 'application/activity+json')).body.toString(),
  )
  const postId = String(outbox.orderedItems[0].object.id)
  const response = await requestAs(postId, 'text/html,application/xhtml+xml,*/*;q=0.8')
  expect({ status: response.status, type: response.headers.get('content-type') }).toEqual({
    status: 200,
    type: 'text/html; charset=UTF-8',
  })
  expect(response.body.toString()).toContain(`<p>${text}</p>`)
  const page = await requestAs(`${gatewayOrigin}/agents/echo`, 'text/html')
  expect(page.body.toString()).toContain(`<a rel="nofollow noopener noreferrer" href="${postId}">`)
  expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'none'; /)
  const feed = await requestAs(`${gatewayOrigin}/agents/echo/feed.atom`, '*/*')
  expect(feed.body.toString()).toContain(`<id>${postId}</id>`)
})

test('the gateway refuses a domain that the list suspends, but not one that the list only limits', async () => {
  const sendHello = (from: string) => gateway.simulation.send({ via: 'activitypub', to: 'echo', text: 'hello', from })
  expect(await sendHello('mallory@evil.test')).toMatchObject({ status: 'refused', refusal: { answer: 403 } })
  expect(await sendHello('alice@snac.test')).toMatchObject({ status: 'answered' })
})
