import { doesActorOwnKey, verifyObject, verifyRequest } from '@fedify/fedify'
import { Create } from '@fedify/vocab'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FedifySetup } from './fedify-setup.ts'
import { fedifyAgent, openFedifySetup } from './fedify-setup.ts'

// These tests let a Fedify bot that no longer supports draft-cavage check our agent's answers: the request, and the object by itself.

let setup: FedifySetup
let answer: Create
let postedRequest: Request

beforeAll(async () => {
  setup = await openFedifySetup({ isModern: true })
  const create = setup.composeCreate('<p>say something</p>')
  await setup.sendAsBot(create)
  answer = await setup.waitForAnswer(create)
  postedRequest = setup.bot.requests.at(-1) as Request
})
afterAll(() => setup?.close())

const copyRequest = (request = postedRequest) => request.clone() as Request
const loaders = () => ({ documentLoader: setup.bot.loader, contextLoader: setup.bot.loader })
const readDocument = async () => (await copyRequest().json()) as Record<string, unknown> & { proof: object }

test('the gateway repeats a refused request with an RFC 9421 signature and the same body', async () => {
  const schemes = setup.bot.requests.map(({ headers }) => headers.has('signature-input'))
  expect(schemes).toEqual([false, true])
  const bodies = await Promise.all(setup.bot.requests.map(request => copyRequest(request).text()))
  expect(new Set(bodies).size).toBe(1)
})

test('Fedify verifies our RFC 9421 signature with the key of our agent', async () => {
  const key = await verifyRequest(copyRequest(), { ...loaders(), spec: 'rfc9421' })
  expect(key?.id?.href).toBe(`${fedifyAgent.href}#main-key`)
  expect(key && (await doesActorOwnKey(answer, key, loaders()))).toBe(true)
})

test('Fedify rejects our RFC 9421 signature when the body differs', async () => {
  const body = (await copyRequest().text()).replace('something', 'nothing')
  expect(await verifyRequest(new Request(copyRequest(), { body }), { ...loaders(), spec: 'rfc9421' })).toBeNull()
})

test('Fedify verifies the integrity proof of the object without its request (FEP-8b32)', async () => {
  const proven = await verifyObject(Create, await readDocument(), loaders())
  expect([proven?.id?.href, proven?.actorId?.href]).toEqual([answer.id?.href, fedifyAgent.href])
})

test.each<[string, (document: Awaited<ReturnType<typeof readDocument>>) => object]>([
  ['with another word in it', document => JSON.parse(JSON.stringify(document).replace('something', 'nothing'))],
  ['with a value of another', document => ({ ...document, proof: { ...document.proof, proofValue: 'z1' } })],
])('Fedify rejects the integrity proof of an object %s', async (_, change) => {
  const document = change(await readDocument())
  const verdict = await verifyObject(Create, document, loaders()).catch(() => null)
  expect(verdict).toBeNull()
})
