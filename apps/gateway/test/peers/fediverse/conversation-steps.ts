// Lists the steps in which alice writes to the agent.
import { deepStrictEqual, match, ok } from 'node:assert/strict'
import { waitUntil } from '../eventually.ts'
import { ourOrigin, snacHost } from '../names.ts'
import type { SnacDocument } from './snac.ts'
import type { SnacSetup, SnacStep } from './snac-setup.ts'
import {
  echoAddress,
  findAnswers,
  findAnswerTo,
  publish,
  publishAnswered,
  readDeliveredMessage,
  replyTo,
} from './snac-setup.ts'

/** The steps in which alice writes and the agent answers. */
export const conversationSteps: readonly SnacStep[] = [
  { name: 'alice mentions the agent and has its answer in her timeline', run: mention },
  { name: 'alice answers the answer: one thread, one history', run: goOn },
  { name: 'what is said in private is answered in private', run: mentionInPrivate },
  { name: 'mentioned in the middle of a thread, the agent knows what was said above', run: joinLate },
  { name: 'a long answer is a thread in her timeline', run: askForMuch },
]

async function mention(setup: SnacSetup): Promise<void> {
  const { post, answer } = await publishAnswered(setup, 'note', `${echoAddress} hello from another gateway`)
  match(String(answer.content), /hello from another gateway/)
  const message = await readDeliveredMessage(setup, post)
  deepStrictEqual(message.message.sender.address, '@alice@snac.test')
  deepStrictEqual(message.message.sender.verified, true)
  deepStrictEqual(
    message.deliveries.map(({ state }) => state),
    ['sent'],
  )
}

async function goOn(setup: SnacSetup): Promise<void> {
  const [answer] = findAnswers(setup)
  ok(answer)
  const post = await replyTo(setup, answer, `${echoAddress} and again`)
  await findAnswerTo(setup, post)
  const { message } = await readDeliveredMessage(setup, post)
  deepStrictEqual(
    message.history?.map(({ role }) => role),
    ['user', 'assistant'],
  )
}

/** Checks a private mention: the answer is shown to alice, whose server signs its request, and to nobody else. */
async function mentionInPrivate(setup: SnacSetup): Promise<void> {
  const { answer } = await publishAnswered(setup, 'note_mention', `${echoAddress} between us`)
  deepStrictEqual([answer.to, answer.cc].flat(), [setup.snac.actor])
  match(await setup.snac.run('request', 'alice', answer.id), /between us/)
  deepStrictEqual(await setup.gateway.fetchAsStranger(answer.id), 404)
}

async function joinLate(setup: SnacSetup): Promise<void> {
  const first = await publish(setup, 'note', 'which bread is the best?')
  const second = await replyTo(setup, first, 'rye, says my neighbour')
  const third = await replyTo(setup, second, `${echoAddress} and you?`)
  await findAnswerTo(setup, third)
  const { message } = await readDeliveredMessage(setup, third)
  match(JSON.stringify(message.history), /which bread is the best\?.*rye, says my neighbour/)
  for (const { id } of [first, second]) checkSignedFetch(setup, id)
}

/** Checks a signed fetch: snac does not make one, but others do, and it must be accepted. */
function checkSignedFetch({ capturedRequests }: SnacSetup, id: string): void {
  const { pathname } = new URL(id)
  const request = capturedRequests.find(
    ({ host, method, target }) => host === snacHost && method === 'GET' && target === pathname,
  )
  const signature = request?.headers.find(([name]) => name.toLowerCase() === 'signature')?.[1]
  ok(signature?.includes(`keyId="${ourOrigin}/actor#main-key"`), `the look at ${id} is signed by the instance actor`)
  deepStrictEqual(request?.answer.status, 200)
}

async function askForMuch(setup: SnacSetup): Promise<void> {
  const paragraph = (name: string) => `${name}: ${'much is to be said about that. '.repeat(9)}`
  const names = ['alpha', 'beta', 'gamma', 'delta']
  const post = await publish(setup, 'note', `${echoAddress} ${names.map(paragraph).join('\n\n')}`)
  const thread = await waitUntil('all pieces are in the timeline', () => {
    const pieces = walkDown(setup, post)
    return pieces.some(({ content }) => String(content).includes('delta:')) ? pieces : undefined
  })
  ok(thread.length > 1, 'the answer has several posts')
  const text = thread.map(({ content }) => content).join('\n')
  deepStrictEqual([...new Set(text.match(/alpha:|beta:|gamma:|delta:/g))], ['alpha:', 'beta:', 'gamma:', 'delta:'])
}

/** Returns the posts of the agent below a post, each one a reply to the one before it. */
function walkDown(setup: SnacSetup, { id }: SnacDocument): readonly SnacDocument[] {
  const next = findAnswers(setup).find(({ inReplyTo }) => inReplyTo === id)
  return next ? [next, ...walkDown(setup, next)] : []
}
