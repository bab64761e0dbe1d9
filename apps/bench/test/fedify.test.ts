import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { doesActorOwnKey, generateCryptoKeyPair, signObject, signRequest, verifyRequest } from '@fedify/fedify'
import type { Activity } from '@fedify/vocab'
import { Create, Mention, Note, PUBLIC_COLLECTION } from '@fedify/vocab'
import type { MessageRecord } from '@postern/core'
import type { SimWorld } from '@postern/sim'
import { openSimWorld } from '@postern/sim'
import type { Gateway } from 'postern'
import { openGateway } from 'postern'
import { parseConfig } from 'postern/config'
import { createLog } from 'postern/log'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { FedifyBot } from './fedify-bot.ts'
import { botOrigin, openFedifyBot } from './fedify-bot.ts'

// Fedify is not asked what it thinks of our code: it runs its own against it.

const origin = 'https://agents.test'
const agent = new URL(`${origin}/agents/echo`)
const inbox = new URL(`${origin}/agents/echo/inbox`)

let world: SimWorld
let bot: FedifyBot
let gateway: Gateway
let counter = 0

beforeAll(async () => {
  world = await openSimWorld()
  // Fedify delivers with the global one.
  vi.stubGlobal('fetch', world.loopback.fetch)
  bot = await openFedifyBot(world.loopback.fetch)
  const config = parseConfig({
    dev: true,
    origin,
    listen: { port: 0 },
    data: mkdtempSync(join(tmpdir(), 'postern-fedify-')),
    agents: { echo: { name: 'Echo', description: 'Answers what you said', use: 'builtin:echo' } },
    network: { loopback: { 'fedify.test': bot.port } },
    log: { level: 'silent' },
  })
  const log = createLog({ level: 'silent', readable: false })
  gateway = await openGateway(config, { baseDir: import.meta.dirname, log, operatorToken: 'unused' })
  const [http] = await gateway.start()
  world.connectGateway({ origin, port: http?.port ?? 0 })
})

afterAll(async () => {
  vi.unstubAllGlobals()
  await gateway?.stop()
  await world?.close()
})

function composeCreate(content: string, audience = { to: PUBLIC_COLLECTION, cc: agent }): Create {
  counter += 1
  const id = `${botOrigin}/notes/${counter}`
  const mention = new Mention({ href: agent, name: '@echo@agents.test' })
  return new Create({
    id: new URL(`${id}#create`),
    actor: bot.actor,
    object: new Note({ id: new URL(id), attribution: bot.actor, content, tags: [mention], ...audience }),
    ...audience,
  })
}

async function describeRequest(activity: Create): Promise<Request> {
  const body = JSON.stringify(await activity.toJsonLd({ format: 'compact', contextLoader: bot.loader }))
  return new Request(inbox, { method: 'POST', headers: { 'content-type': 'application/activity+json' }, body })
}

async function findRecord({ id }: Create): Promise<MessageRecord | undefined> {
  return gateway.desk.findMessage(id?.href ?? '')
}

const keyId = () => new URL(`${bot.actor.href}#main-key`)

test.each(['draft-cavage-http-signatures-12', 'rfc9421'] as const)('Fedify signs by %s, we verify', async spec => {
  const create = composeCreate('<p>hello</p>')
  const signed = await signRequest(await describeRequest(create), bot.keys.rsa.privateKey, keyId(), { spec })
  const answer = await fetch(signed)
  expect([answer.status, await answer.text()]).toEqual([202, ''])
  expect((await findRecord(create))?.message).toMatchObject({
    parts: [{ content: 'hello' }],
    sender: { address: '@bot@fedify.test', verified: true, key_id: keyId().href },
  })
})

test.each(['draft-cavage-http-signatures-12', 'rfc9421'] as const)('with another key by %s, we refuse', async spec => {
  const create = composeCreate('<p>hello</p>')
  const stranger = await generateCryptoKeyPair('RSASSA-PKCS1-v1_5')
  const signed = await signRequest(await describeRequest(create), stranger.privateKey, keyId(), { spec })
  expect((await fetch(signed)).status).toBe(401)
  expect(await findRecord(create)).toBeUndefined()
})

test('Fedify signs the object too (FEP-8b32): it is a second piece of evidence', async () => {
  const create = composeCreate('<p>hello</p>', { to: agent, cc: bot.actor })
  const multikey = new URL(`${bot.actor.href}#multikey-2`)
  const proven = await signObject(create, bot.keys.ed25519.privateKey, multikey, { contextLoader: bot.loader })
  await fetch(await signRequest(await describeRequest(proven), bot.keys.rsa.privateKey, keyId()))
  const record = await findRecord(create)
  expect(record?.message.sender.identities?.map(({ method }) => method)).toEqual([
    'urn:mentionable:auth:ap-http-signature:v0.1',
    'urn:mentionable:auth:ap-object-integrity-proof:v0.1',
  ])
})

test('the object’s proof holds beside a Linked Data Signature, as sendActivity() makes both', async () => {
  const create = composeCreate('<p>signed three times</p>', { to: agent, cc: bot.actor })
  await sendAsBot(create)
  const record = await findRecord(create)
  expect(record?.message.sender.identities).toHaveLength(2)
})

/** As Fedify sends by itself: request, object and, for the old servers, linked data are signed. */
async function sendAsBot(activity: Activity): Promise<void> {
  const context = bot.federation.createContext(new URL(botOrigin), undefined)
  await context.sendActivity({ identifier: 'bot' }, { id: agent, inboxId: inbox, endpoints: null }, activity)
}

test('our delivery passes Fedify’s verifier, and the key is our agent’s', async () => {
  const create = composeCreate('<p>say something</p>')
  await fetch(await signRequest(await describeRequest(create), bot.keys.rsa.privateKey, keyId()))
  const answer = await waitForAnswer(create)
  const request = bot.requests.at(-1) as Request
  const loaders = { documentLoader: bot.loader, contextLoader: bot.loader }
  const key = await verifyRequest(request.clone() as Request, loaders)
  expect(key?.id?.href).toBe(`${agent.href}#main-key`)
  expect(key && (await doesActorOwnKey(answer, key, loaders))).toBe(true)
  const tampered = new Request(request.clone() as Request, {
    body: (await request.clone().text()).replace('something', 'nothing'),
  })
  expect(await verifyRequest(tampered, loaders)).toBeNull()
})

/** The `Create` that Fedify let through to the bot. */
function waitForAnswer({ objectId }: Create): Promise<Create> {
  return bot.waitFor(async activity => {
    if (!(activity instanceof Create)) return undefined
    const note = await activity.getObject()
    return note instanceof Note && note.replyTargetId?.href === objectId?.href ? activity : undefined
  })
}

test('a bot of Fedify mentions the agent and hears its reply', async () => {
  const create = composeCreate('<p>hello from a bot</p>')
  await sendAsBot(create)
  const answer = await waitForAnswer(create)
  const note = await answer.getObject({ documentLoader: bot.loader, contextLoader: bot.loader })
  expect(note?.content?.toString()).toContain('hello from a bot')
  expect(note?.attributionId?.href).toBe(agent.href)
})
