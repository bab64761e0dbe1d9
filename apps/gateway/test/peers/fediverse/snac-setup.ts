// Provides the actions of alice on her snac server.
import { setTimeout as delay } from 'node:timers/promises'
import type { MessageRecord } from '@postern/pipeline'
import type { CapturedRequest } from '../captured.ts'
import { waitUntil } from '../eventually.ts'
import { ourHost } from '../names.ts'
import type { OurGateway } from '../our-gateway.ts'
import type { ExamStep as NamedStep } from '../run-steps.ts'
import type { Snac, SnacDocument } from './snac.ts'

/** Both servers, and the requests between them. */
export interface SnacSetup {
  readonly snac: Snac
  readonly gateway: OurGateway
  readonly capturedRequests: readonly CapturedRequest[]
}

export type SnacStep = NamedStep<SnacSetup>

export const echoAddress = `@echo@${ourHost}`

interface AnsweredPost {
  readonly post: SnacDocument
  readonly answer: SnacDocument
}

/** Has alice write with one of snac's commands, and waits for the answer. */
export async function publishAnswered(setup: SnacSetup, command: string, text: string): Promise<AnsweredPost> {
  const post = await publish(setup, command, text)
  return { post, answer: await findAnswerTo(setup, post) }
}

export function publish(setup: SnacSetup, command: string, text: string): Promise<SnacDocument> {
  return findNewPost(setup, () => setup.snac.run(command, 'alice', text))
}

/** Has alice reply to a post. */
export function replyTo(setup: SnacSetup, { id }: SnacDocument, content: string): Promise<SnacDocument> {
  return findNewPost(setup, () => setup.snac.press('note', { content, in_reply_to: id }))
}

async function findNewPost(setup: SnacSetup, publishPost: () => Promise<unknown>): Promise<SnacDocument> {
  const idsBefore = ownPosts(setup).map(({ id }) => id)
  await publishPost()
  return waitUntil('snac has the post', () => ownPosts(setup).find(({ id }) => !idsBefore.includes(id)))
}

/** Returns alice's own posts, oldest first. */
export function ownPosts({ snac }: SnacSetup): readonly SnacDocument[] {
  return inOrder(snac.documents().filter(({ type, attributedTo }) => type === 'Note' && attributedTo === snac.actor))
}

/** Returns the agent's posts in alice's timeline, oldest first. */
export function findAnswers({ snac, gateway }: SnacSetup): readonly SnacDocument[] {
  return inOrder(snac.timeline().filter(({ attributedTo }) => attributedTo === gateway.actor))
}

function inOrder(posts: readonly SnacDocument[]): readonly SnacDocument[] {
  return posts.toSorted((left, right) => String(left.published).localeCompare(String(right.published)))
}

export function findAnswerTo(setup: SnacSetup, post: SnacDocument): Promise<SnacDocument> {
  return waitUntil('the answer is in the timeline', () =>
    findAnswers(setup).find(({ inReplyTo }) => inReplyTo === post.id),
  )
}

export async function findMessageRecord(
  { gateway }: SnacSetup,
  post: SnacDocument,
): Promise<MessageRecord | undefined> {
  return (await gateway.messages()).find(({ message }) => message.id.startsWith(post.id))
}

export async function readDeliveredMessage(setup: SnacSetup, post: SnacDocument): Promise<MessageRecord> {
  return waitUntil('the operator sees the message answered', async () => {
    const record = await findMessageRecord(setup, post)
    return record?.deliveries.every(({ state }) => state === 'sent') ? record : undefined
  })
}

export async function countKind({ gateway }: SnacSetup, kind: string): Promise<number> {
  return (await gateway.messages()).filter(({ message }) => message.kind === kind).length
}

/** Waits for snac, which polls its queue every three seconds: an event that has not happened by then will not happen. */
export function waitForSnac(): Promise<void> {
  return delay(7_000)
}
