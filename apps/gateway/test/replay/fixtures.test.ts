import { createHash, createSign, generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { gatewayOrigin } from '../setup/gateway.ts'
import { openFakeHost } from '../setup/open-fake-host.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway } from '../setup/web-gateway.ts'
import type { FixtureDocument, SeedRequest } from './fixture-files.ts'
import { readActivities, readActors, readCalls, readMails, readSeedRequests } from './fixture-files.ts'
import { replayAll } from './replay-gateway.ts'

// The keys of the senders are unknown, so each actor shows one of ours in its place.
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' })
const actors = new Map(readActors().map(actor => [String(actor.id), showActor(actor)]))
const hosts = new Set([...actors.keys()].map(id => new URL(id).host))

let web: WebGateway
let gateway: TestGateway
let closeHosts: () => Promise<void>

beforeAll(async () => {
  const fake = await openFakeHost((host, { url = '/' }) => describeHost(host, url))
  closeHosts = fake.close
  const loopback = Object.fromEntries([...hosts].map(host => [host, fake.port]))
  const echo = { use: 'builtin:echo' }
  web = await openWebGateway({}, { agents: { echo, chat: echo, help: { use: 'builtin:help' } }, network: { loopback } })
  gateway = web.gateway
})
afterAll(async () => {
  await web.close()
  await closeHosts()
})

function showActor(actor: FixtureDocument): FixtureDocument {
  const [publishedKey] = [actor.publicKey].flat() as FixtureDocument[]
  return { ...actor, publicKey: { ...publishedKey, publicKeyPem } }
}

/** Describes the actors of a host, and their names. */
function describeHost(host: string, url: string) {
  const askedUrl = new URL(url, `https://${host}`)
  const ownActors = [...actors.values()].filter(({ id }) => new URL(String(id)).host === host)
  const resource = askedUrl.searchParams.get('resource')
  const actor = ownActors.find(actor => resource === `acct:${actor.preferredUsername}@${host}`)
  const links = actor && [{ rel: 'self', type: 'application/activity+json', href: actor.id }]
  const pages = ownActors
    .filter(({ id }) => new URL(String(id)).search === askedUrl.search)
    .map(actor => {
      return [new URL(String(actor.id)).pathname, { type: 'application/activity+json', body: actor }] as const
    })
  return {
    ...Object.fromEntries(pages),
    ...(links && { '/.well-known/webfinger': { type: 'application/jrd+json', body: { subject: resource, links } } }),
  }
}

async function postActivity(activity: FixtureDocument): Promise<number> {
  const [actorValue] = [activity.actor].flat()
  const id =
    typeof actorValue === 'object' && actorValue !== null
      ? String((actorValue as FixtureDocument).id)
      : String(actorValue)
  const keyId = String((actors.get(id)?.publicKey as FixtureDocument | undefined)?.id)
  const body = JSON.stringify(activity)
  const fields = {
    '(request-target)': 'post /inbox',
    host: new URL(gatewayOrigin).host,
    date: new Date().toUTCString(),
    digest: `SHA-256=${createHash('sha256').update(body).digest('base64')}`,
  }
  const signedLines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  const value = createSign('sha256').update(signedLines.join('\n')).sign(privateKey, 'base64')
  const { '(request-target)': _, ...headers } = fields
  const signature = `keyId="${keyId}",algorithm="rsa-sha256",headers="${Object.keys(fields).join(' ')}",signature="${value}"`
  const init = { method: 'POST', headers: { ...headers, signature, 'content-type': 'application/activity+json' }, body }
  return (await fetch(`${gateway.url()}/inbox`, init)).status
}

async function postSeed({ method, path, headers = {}, json }: SeedRequest, token: string): Promise<void> {
  const ownHeaders = { 'content-type': 'application/json', ...headers, authorization: `Bearer ${token}` }
  const init = { method, headers: ownHeaders, ...(json !== undefined && { body: JSON.stringify(json) }) }
  await (await fetch(`${gateway.url()}${path}`, init)).text()
}

/** Replays every message of a channel, and sorts the reports by their outcome. */
async function replay(channel: string) {
  const reports = await replayAll(gateway, { channel })
  const changedReports = reports.filter(({ outcome }) => outcome !== 'same' && outcome !== 'skipped')
  const skipped = reports.filter(({ outcome }) => outcome === 'skipped').map(({ reason }) => reason)
  return { same: reports.filter(({ outcome }) => outcome === 'same').length, changed: changedReports, skipped }
}

test('a replay with unchanged code shows no difference for every activity of the fixtures', async () => {
  for (const activity of readActivities()) await postActivity(activity)
  const { same, changed, skipped } = await replay('activitypub')
  expect(changed).toEqual([])
  // Some messages are deleted, and some are edited so soon that the first version was never answered.
  const goneReason = /^(?:its bytes were deleted|its author edited it before the answer, .*)$/
  expect(skipped.filter(reason => !goneReason.test(reason ?? ''))).toEqual([])
  expect(same).toBeGreaterThan(60)
})

test('a replay with unchanged code shows no difference for every mail of the fixtures', async () => {
  const envelope = { from: 'alice@alice.test', to: ['echo@agents.test'] }
  for (const octets of readMails()) {
    const mail = { octets, messageId: '', envelope, ip: '127.0.0.1', helo: 'mx.alice.test' }
    await gateway.simulation.mail.postIntake(mail)
  }
  const { same, changed, skipped } = await replay('email')
  expect(changed).toEqual([])
  expect(skipped).toEqual([])
  expect(same).toBeGreaterThan(150)
})

test('a replay with unchanged code shows no difference for every A2A call of the fixtures', async () => {
  const token = await gateway.simulation.a2a.token({ sub: 'alice' })
  const headers = { 'a2a-version': '1.0', 'content-type': 'application/json' }
  const calls = readCalls().map(text => ({ method: 'POST', path: '/a2a', headers, json: JSON.parse(text) as unknown }))
  for (const seed of [...calls, ...readSeedRequests('a2a'), ...readSeedRequests('a2a-0.3')]) await postSeed(seed, token)
  const { same, changed, skipped } = await replay('a2a')
  expect(changed).toEqual([])
  expect(skipped).toEqual([])
  expect(same).toBeGreaterThan(7)
})

test('a replay with unchanged code shows no difference for every chat run of the fixtures', async () => {
  for (const seed of readSeedRequests('web')) await postSeed(seed, 'token-of-ann-for-the-tests')
  const { same, changed, skipped } = await replay('web')
  expect(changed).toEqual([])
  expect(skipped).toEqual([])
  expect(same).toBeGreaterThan(4)
})
