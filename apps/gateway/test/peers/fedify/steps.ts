// Lists the steps of the exam with Fedify.
import { deepStrictEqual, match, ok } from 'node:assert/strict'
import { verifyObject } from '@fedify/fedify'
import { Accept, Announce, Create, Delete, Follow, Like, Note, PUBLIC_COLLECTION, Undo, Update } from '@fedify/vocab'
import { waitUntil } from '../eventually.ts'
import { fedifyHost, ourHost, ourOrigin } from '../names.ts'
import type { FedifyExam, FedifyStep } from './ann-actions.ts'
import {
  awaitActivity,
  awaitRecord,
  awaitReply,
  deliver,
  findAgent,
  mentionAgent,
  mentionAgentAndAwaitAnswer,
  newId,
} from './ann-actions.ts'
import { deliverByProof } from './deliver-by-proof.ts'

/** The steps between our gateway and a server that signs and demands all that Fedify supports, in order. */
export const fedifySteps: readonly FedifyStep[] = [
  { name: 'Fedify finds the agent by its address', run: expectAgent },
  { name: 'ann follows the agent, which accepts', run: follow },
  { name: 'ann mentions the agent, and its answer carries signatures that Fedify believes', run: converse },
  { name: 'ann answers the answer: one thread, one history', run: goOn },
  { name: 'what is said in private is answered in private, and shown to her server alone', run: converseInPrivate },
  {
    name: 'mentioned in the middle of a thread, the agent fetches what stands above with a signed look',
    run: joinLate,
  },
  { name: 'ann edits and deletes her note', run: editAndDelete },
  { name: 'ann likes and boosts the answer, and takes both back', run: react },
  { name: 'the agent posts, edits and deletes, and likes and boosts ann’s note', run: actOnPost },
  { name: 'a delivery without an HTTP signature counts by its object proof', run: proveByObject },
  { name: 'new keys: Fedify believes the next answer, and our looks are let in', run: rotate },
  { name: 'revoked keys: Fedify fetches the new ones and believes the next answer', run: revoke },
  { name: 'ann takes her follow back', run: unfollow },
  { name: 'RFC 9421 counted at every delivery of Fedify, and nothing was refused', run: checkDeliveries },
]

async function expectAgent(setup: FedifyExam): Promise<void> {
  const agent = await findAgent(setup)
  deepStrictEqual([agent.id?.href, agent.preferredUsername], [setup.gateway.actor, 'echo'])
}

async function follow(setup: FedifyExam): Promise<void> {
  const { fedify, gateway } = setup
  const object = new URL(gateway.actor)
  const id = newId(setup, 'follows')
  await deliver(setup, new Follow({ id, actor: fedify.actor, object }))
  const accept = await awaitActivity(setup, Accept)
  deepStrictEqual([accept.actorId?.href, accept.objectId?.href], [gateway.actor, id.href])
  deepStrictEqual(await gateway.followerCount(), 1)
}

async function converse(setup: FedifyExam): Promise<void> {
  const { fedify, gateway } = setup
  const note = await mentionAgent(setup, 'hello from Fedify')
  const answer = await awaitReply(setup, note)
  match(String(answer.content), /hello from Fedify/)
  deepStrictEqual(answer.attributionId?.href, gateway.actor)
  const { message } = await awaitRecord(setup, note.id)
  deepStrictEqual([message.sender.address, message.sender.verified], [`@ann@${fedifyHost}`, true])
  const create = await awaitActivity(setup, Create)
  const { contextLoader, documentLoader } = fedify.context
  const isProven = await verifyObject(Create, await create.toJsonLd({ contextLoader }), {
    contextLoader,
    documentLoader,
  })
  ok(isProven, 'the object proof of the activity is good')
}

async function goOn(setup: FedifyExam): Promise<void> {
  const { id: replyTo } = await mentionAgentAndAwaitAnswer(setup, 'first')
  const note = await mentionAgent(setup, 'second', { replyTo })
  await awaitReply(setup, note)
  const { message } = await awaitRecord(setup, note.id)
  deepStrictEqual(
    message.history?.map(({ role }) => role),
    ['user', 'assistant'],
  )
}

async function converseInPrivate(setup: FedifyExam): Promise<void> {
  const { fedify, gateway } = setup
  const answer = await mentionAgentAndAwaitAnswer(setup, 'between us', { isPrivate: true })
  deepStrictEqual(
    [...answer.toIds, ...answer.ccIds].map(({ href }) => href),
    [fedify.actor.href],
  )
  const loader = await fedify.context.getDocumentLoader({ identifier: 'ann' })
  const shownObject = await fedify.context.lookupObject(answer.id?.href ?? '', { documentLoader: loader })
  match(String(shownObject?.content), /between us/)
  deepStrictEqual(await gateway.fetchAsStranger(answer.id?.href ?? ''), 404)
}

async function joinLate(setup: FedifyExam): Promise<void> {
  const { fedify } = setup
  const id = newId(setup, 'notes')
  const content = 'which bread is the best?'
  fedify.notes.set(
    id.pathname.split('/').at(-1) ?? '',
    new Note({ id, attribution: fedify.actor, content, to: PUBLIC_COLLECTION }),
  )
  const note = await mentionAgent(setup, 'and you?', { replyTo: id })
  await awaitReply(setup, note)
  const { message } = await awaitRecord(setup, note.id)
  match(JSON.stringify(message.history), /which bread is the best\?/)
  const idFetch = fedify.fetches.find(({ path }) => path === id.pathname)
  deepStrictEqual(idFetch?.signer, `${ourOrigin}/actor`)
}

async function editAndDelete(setup: FedifyExam): Promise<void> {
  const { fedify, gateway } = setup
  const note = await mentionAgent(setup, 'a word')
  await awaitReply(setup, note)
  const editedNote = note.clone({ content: '<p>@echo another word</p>', updated: Temporal.Now.instant() })
  await deliver(setup, new Update({ id: newId(setup, 'updates'), actor: fedify.actor, object: editedNote }))
  await waitForKind(setup, 'edit')
  await deliver(setup, new Delete({ id: newId(setup, 'deletes'), actor: fedify.actor, object: note.id }))
  await waitForKind(setup, 'delete')
  const texts = JSON.stringify((await gateway.messages()).map(({ message }) => message.parts))
  deepStrictEqual([texts.includes('a word'), texts.includes('another word')], [false, false])
}

async function react(setup: FedifyExam): Promise<void> {
  const { fedify } = setup
  const { id: object } = await mentionAgentAndAwaitAnswer(setup, 'say something nice')
  const acts = [Like, Announce].map(kind => new kind({ id: newId(setup, kind.name), actor: fedify.actor, object }))
  for (const act of acts) await deliver(setup, act)
  await waitForKind(setup, 'reaction', 2)
  for (const act of acts) {
    await deliver(setup, new Undo({ id: newId(setup, 'undos'), actor: fedify.actor, object: act }))
  }
  await waitForKind(setup, 'reaction', 4)
}

async function actOnPost(setup: FedifyExam): Promise<void> {
  const { gateway } = setup
  await gateway.postern('post', 'echo', 'good **morning**')
  const create = await waitUntil('the post has come', async () => {
    const activity = await awaitActivity(setup, Create)
    const object = await activity.getObject(setup.fedify.context)
    return String(object?.content).includes('good <strong>morning</strong>') ? activity : undefined
  })
  const name = create.objectId?.pathname.split('/').at(-1) ?? ''
  await gateway.postern('edit', 'echo', name, 'good evening')
  const update = await awaitActivity(setup, Update)
  match(String((await update.getObject(setup.fedify.context))?.content), /good evening/)
  await gateway.postern('delete-post', 'echo', name)
  await awaitActivity(setup, Delete)
  const note = await mentionAgent(setup, 'a fine day')
  await awaitReply(setup, note)
  const { message } = await awaitRecord(setup, note.id)
  await gateway.performActions(['like', 'boost'].map(kind => ({ act: kind, message: message.id })))
  deepStrictEqual((await awaitActivity(setup, Like)).objectId?.href, note.id?.href)
  deepStrictEqual((await awaitActivity(setup, Announce)).objectId?.href, note.id?.href)
}

async function proveByObject(setup: FedifyExam): Promise<void> {
  const note = await deliverByProof(setup, 'without a signature of the request')
  await awaitReply(setup, note)
  const { message } = await awaitRecord(setup, note.id)
  deepStrictEqual([message.sender.address, message.sender.verified], [`@ann@${fedifyHost}`, true])
}

async function rotate(setup: FedifyExam): Promise<void> {
  await setup.gateway.postern('keys', 'rotate', 'echo')
  await mentionAgentAndAwaitAnswer(setup, 'is that you?')
  await joinLate(setup)
}

async function revoke(setup: FedifyExam): Promise<void> {
  await setup.gateway.postern('keys', 'rotate', 'echo', '--revoke')
  await mentionAgentAndAwaitAnswer(setup, 'and now?')
  await joinLate(setup)
}

async function unfollow(setup: FedifyExam): Promise<void> {
  const { fedify, gateway } = setup
  const object = new Follow({ id: newId(setup, 'follows'), actor: fedify.actor, object: new URL(gateway.actor) })
  await deliver(setup, new Undo({ id: newId(setup, 'undos'), actor: fedify.actor, object }))
  await waitUntil('nobody follows', async () => (await gateway.followerCount()) === 0 || undefined)
}

/** Checks that Fedify repeats a delivery in the older way if the first one is not accepted. */
async function checkDeliveries({ gateway, capturedRequests }: FedifyExam): Promise<void> {
  const deliveries = capturedRequests.filter(({ host, method, headers }) => {
    return host === ourHost && method === 'POST' && headers.some(([name]) => name.toLowerCase() === 'signature-input')
  })
  ok(deliveries.length > 10)
  deepStrictEqual([...new Set(deliveries.map(({ answer }) => answer.status))], [202])
  deepStrictEqual(await gateway.refusals(), [])
}

async function waitForKind({ gateway }: FedifyExam, kind: string, count = 1): Promise<void> {
  await waitUntil(`${count} of kind ${kind}`, async () => {
    const messages = (await gateway.messages()).filter(({ message }) => message.kind === kind)
    return messages.length >= count || undefined
  })
}
