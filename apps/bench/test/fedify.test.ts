import { doesActorOwnKey, generateCryptoKeyPair, signObject, signRequest, verifyRequest } from '@fedify/fedify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FedifySetup } from './fedify-setup.ts'
import { fedifyAgent, keyId, openFedifySetup } from './fedify-setup.ts'

// These tests run Fedify's own code against ours.

let setup: FedifySetup

beforeAll(async () => {
  setup = await openFedifySetup()
})
afterAll(() => setup?.close())

test.each(['draft-cavage-http-signatures-12', 'rfc9421'] as const)(
  'the gateway accepts a request signed by Fedify with %s',
  async spec => {
    const create = setup.composeCreate('<p>hello</p>')
    const signedRequest = await signRequest(await setup.describeRequest(create), setup.bot.keys.rsa.privateKey, keyId, {
      spec,
    })
    const response = await fetch(signedRequest)
    expect([response.status, await response.text()]).toEqual([202, ''])
    expect((await setup.findRecord(create))?.message).toMatchObject({
      parts: [{ content: 'hello' }],
      sender: { address: '@bot@fedify.test', verified: true, key_id: keyId.href },
    })
  },
)

test.each(['draft-cavage-http-signatures-12', 'rfc9421'] as const)(
  'the gateway refuses a request signed with a foreign key by %s',
  async spec => {
    const create = setup.composeCreate('<p>hello</p>')
    const stranger = await generateCryptoKeyPair('RSASSA-PKCS1-v1_5')
    const signedRequest = await signRequest(await setup.describeRequest(create), stranger.privateKey, keyId, { spec })
    expect((await fetch(signedRequest)).status).toBe(401)
    expect(await setup.findRecord(create)).toBeUndefined()
  },
)

test('the gateway counts the object signature of a Fedify activity as a second piece of evidence (FEP-8b32)', async () => {
  const create = setup.composeCreate('<p>hello</p>', { to: fedifyAgent, cc: setup.bot.actor })
  const multikey = new URL(`${setup.bot.actor.href}#multikey-2`)
  const proven = await signObject(create, setup.bot.keys.ed25519.privateKey, multikey, {
    contextLoader: setup.bot.loader,
  })
  await fetch(await signRequest(await setup.describeRequest(proven), setup.bot.keys.rsa.privateKey, keyId))
  const record = await setup.findRecord(create)
  expect(record?.message.sender.identities?.map(({ method }) => method)).toEqual([
    'urn:mentionable:auth:ap-http-signature:v0.1',
    'urn:mentionable:auth:ap-object-integrity-proof:v0.1',
  ])
})

test('the gateway verifies the object integrity proof of an activity that also has a Linked Data Signature', async () => {
  const create = setup.composeCreate('<p>signed three times</p>', { to: fedifyAgent, cc: setup.bot.actor })
  await setup.sendAsBot(create)
  const record = await setup.findRecord(create)
  expect(record?.message.sender.identities).toHaveLength(2)
})

test('Fedify verifies our delivery with the key of our agent', async () => {
  const create = setup.composeCreate('<p>say something</p>')
  await fetch(await signRequest(await setup.describeRequest(create), setup.bot.keys.rsa.privateKey, keyId))
  const answer = await setup.waitForAnswer(create)
  const request = setup.bot.requests.at(-1) as Request
  const loaders = { documentLoader: setup.bot.loader, contextLoader: setup.bot.loader }
  const key = await verifyRequest(request.clone() as Request, loaders)
  expect(key?.id?.href).toBe(`${fedifyAgent.href}#main-key`)
  expect(key && (await doesActorOwnKey(answer, key, loaders))).toBe(true)
  const tampered = new Request(request.clone() as Request, {
    body: (await request.clone().text()).replace('something', 'nothing'),
  })
  expect(await verifyRequest(tampered, loaders)).toBeNull()
})

test('a Fedify bot that mentions the agent receives its reply', async () => {
  const create = setup.composeCreate('<p>hello from a bot</p>')
  await setup.sendAsBot(create)
  const answer = await setup.waitForAnswer(create)
  const note = await answer.getObject({ documentLoader: setup.bot.loader, contextLoader: setup.bot.loader })
  expect(note?.content?.toString()).toContain('hello from a bot')
  expect(note?.attributionId?.href).toBe(fedifyAgent.href)
})
