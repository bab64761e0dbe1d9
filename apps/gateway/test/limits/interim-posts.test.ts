import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { SlowGateway } from '../setup/slow-gateway.ts'
import { openSlowGateway } from '../setup/slow-gateway.ts'

// These tests check that interim posts of an agent are withdrawn when its turn ends without an answer.

let gateway: SlowGateway
beforeAll(async () => {
  const use = '../agents/waiting/teller.ts'
  gateway = await openSlowGateway({ teller: { use, queue: 'interrupt' } })
})
afterAll(() => gateway.close())

/** Returns the post with this text, once its server has it. */
async function postOf(text: string): Promise<string> {
  const { activity } = await gateway.awaitAnswer(text)
  return String((activity.object as { readonly id?: string }).id)
}

const awaitDeletion = (postId: string) =>
  gateway.simulation.fediverse.awaitActivity(
    ({ activity, verified }) => verified && activity.type === 'Delete' && JSON.stringify(activity).includes(postId),
    30_000,
  )

/** Returns the conversation of the newest message, as in the transcript. */
async function readThread(): Promise<string> {
  const [newest] = await gateway.messages()
  const query = new URLSearchParams({ thread: newest?.id ?? '', format: 'store' })
  const { messages } = await gateway.requestOperator<{ messages: readonly object[] }>(`/transcript?${query}`)
  return JSON.stringify(messages)
}

test('a newer message that interrupts a turn withdraws its interim posts, also from the history', async () => {
  await gateway.post('teller', 'the key', { thread: 'interrupted' })
  const postId = await postOf('looking for the key')
  await gateway.post('teller', 'it is found', { thread: 'interrupted' })
  await awaitDeletion(postId)
  await gateway.awaitAnswer('it is found')
  await eventually(async () => (await readThread()).includes('here is it is found'))
  expect(await readThread()).not.toContain('looking for the key')
})

test('the gateway withdraws interim posts when the author deletes their message', async () => {
  const object = await gateway.post('teller', 'the map', { thread: 'deleted' })
  const postId = await postOf('looking for the map')
  await gateway.remove('teller', object)
  await awaitDeletion(postId)
})

test('an agent without a final answer withdraws its interim posts', async () => {
  await gateway.post('teller', 'quiet things', { thread: 'silent' })
  await awaitDeletion(await postOf('looking for quiet things'))
  await eventually(async () => !(await readThread()).includes('looking for'))
})

/** Waits until nobody runs the turn, because it is postponed. */
const awaitRest = (object: string) =>
  eventually(async () => {
    const [message] = (await gateway.messages()).filter(({ preview }) => preview.includes(object))
    return message?.state === 'received'
  })

test('the gateway withdraws interim posts when the author deletes their message before a turn runs again', async () => {
  const object = await gateway.post('teller', 'a map for later', { thread: 'put off, deleted' })
  const postId = await postOf('looking for a map for later')
  await awaitRest('a map for later')
  await gateway.remove('teller', object)
  await awaitDeletion(postId)
})

test('a newer message withdraws the interim posts of a turn that is not running', async () => {
  await gateway.post('teller', 'a key for later', { thread: 'put off, interrupted' })
  const postId = await postOf('looking for a key for later')
  await awaitRest('a key for later')
  await gateway.post('teller', 'the key is found', { thread: 'put off, interrupted' })
  await awaitDeletion(postId)
  await eventually(async () => (await readThread()).includes('here is the key is found'))
  expect(await readThread()).not.toContain('looking for a key for later')
})
