// Lists the steps in which the agent acts unasked.
import { deepStrictEqual, ok } from 'node:assert/strict'
import { waitUntil } from '../eventually.ts'
import type { SnacDocument } from './snac.ts'
import type { SnacSetup, SnacStep } from './snac-setup.ts'
import { findAnswers, ownPosts, readDeliveredMessage } from './snac-setup.ts'

/** The steps in which the agent acts without being asked. */
export const ownActSteps: readonly SnacStep[] = [
  { name: 'a post of the agent’s own is in its follower’s timeline', run: publishPost },
  { name: 'the agent edits it, and snac shows the new words', run: reword },
  { name: 'the agent takes it back, and it is gone from the timeline', run: retract },
  { name: 'the agent likes and boosts a note of alice, and snac shows it', run: likeAndBoost },
  { name: 'the agent takes both back', run: undoLikeAndBoost },
]

async function publishPost(setup: SnacSetup): Promise<void> {
  await setup.gateway.postern('post', 'echo', 'good morning, **everybody**')
  const document = await waitUntil('the post is in the timeline', () => findAgentPost(setup))
  ok(String(document.content).includes('good morning, <strong>everybody</strong>'))
}

async function reword(setup: SnacSetup): Promise<void> {
  await setup.gateway.postern('edit', 'echo', agentPostId(setup), 'good evening, everybody')
  const hasNewWords = () => String(findAgentPost(setup)?.content).includes('good evening') || undefined
  await waitUntil('snac has the new words', hasNewWords)
}

async function retract(setup: SnacSetup): Promise<void> {
  await setup.gateway.postern('delete-post', 'echo', agentPostId(setup))
  await waitUntil('the post has left the timeline', () => findAgentPost(setup) === undefined || undefined)
  const storedDocuments = setup.snac.documents().filter(({ content }) => String(content).includes('good evening'))
  deepStrictEqual(storedDocuments, [])
}

async function likeAndBoost(setup: SnacSetup): Promise<void> {
  await actOnFirstMention(setup, ['like', 'boost'])
  await waitUntil('snac counts both', () => hasReactions(setup, ['like', 'boost']) || undefined)
}

async function undoLikeAndBoost(setup: SnacSetup): Promise<void> {
  await actOnFirstMention(setup, ['unlike', 'unboost'])
  // snac logs that the boost was undone, but continues to show it, and this is intended.
  await waitUntil('snac counts the boost alone', () => hasReactions(setup, ['boost']) || undefined)
  const unboosted = `Unboost for ${firstMention(setup).id}`
  await waitUntil('snac has heard of both', () => setup.snac.log().includes(unboosted) || undefined)
}

/** Finds the agent's only post that is not a reply. */
function findAgentPost(setup: SnacSetup): SnacDocument | undefined {
  return findAnswers(setup).find(({ inReplyTo }) => !inReplyTo)
}

/** Returns the id by which operator commands name that post. */
function agentPostId(setup: SnacSetup): string {
  return findAgentPost(setup)?.id.split('/').at(-1) ?? ''
}

async function actOnFirstMention(setup: SnacSetup, acts: readonly string[]): Promise<void> {
  const { message } = await readDeliveredMessage(setup, firstMention(setup))
  await setup.gateway.performActions(acts.map(act => ({ act, message: message.id })))
}

function hasReactions(setup: SnacSetup, expectedReactions: readonly string[]): boolean {
  const reactions = setup.snac.reactionsOf(firstMention(setup).id, setup.gateway.actor)
  return JSON.stringify(reactions) === JSON.stringify(expectedReactions)
}

function firstMention(setup: SnacSetup): SnacDocument {
  const [first] = ownPosts(setup)
  ok(first)
  return first
}
