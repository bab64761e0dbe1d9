// Lists the steps in which the agent acts unasked.
import { deepStrictEqual, ok } from 'node:assert/strict'
import { waitUntil } from '../eventually.ts'
import type { SnacDocument } from './snac.ts'
import type { SnacSetup, SnacStep } from './stage.ts'
import { findAnswers, ownPosts, readDeliveredMessage } from './stage.ts'

/** The steps in which the agent acts without being asked. */
export const ownActSteps: readonly SnacStep[] = [
  { name: 'a post of the agent’s own is in its follower’s timeline', run: post },
  { name: 'the agent edits it, and snac shows the new words', run: reword },
  { name: 'the agent takes it back, and it is gone from the timeline', run: retract },
  { name: 'the agent likes and boosts a note of alice, and snac shows it', run: admire },
  { name: 'the agent takes both back', run: stopAdmiring },
]

async function post(setup: SnacSetup): Promise<void> {
  await setup.gateway.postern('post', 'echo', 'good morning, **everybody**')
  const document = await waitUntil('the post is in the timeline', () => findOwnPost(setup))
  ok(String(document.content).includes('good morning, <strong>everybody</strong>'))
}

async function reword(setup: SnacSetup): Promise<void> {
  await setup.gateway.postern('edit', 'echo', nameOwnPost(setup), 'good evening, everybody')
  const hasNewWords = () => String(findOwnPost(setup)?.content).includes('good evening') || undefined
  await waitUntil('snac has the new words', hasNewWords)
}

async function retract(setup: SnacSetup): Promise<void> {
  await setup.gateway.postern('delete-post', 'echo', nameOwnPost(setup))
  await waitUntil('the post has left the timeline', () => findOwnPost(setup) === undefined || undefined)
  const storedDocuments = setup.snac.documents().filter(({ content }) => String(content).includes('good evening'))
  deepStrictEqual(storedDocuments, [])
}

async function admire(setup: SnacSetup): Promise<void> {
  await doBoth(setup, ['like', 'boost'])
  await waitUntil('snac counts both', () => hasReactions(setup, ['like', 'boost']) || undefined)
}

async function stopAdmiring(setup: SnacSetup): Promise<void> {
  await doBoth(setup, ['unlike', 'unboost'])
  // snac logs that the boost was undone, but continues to show it, and this is intended.
  await waitUntil('snac counts the boost alone', () => hasReactions(setup, ['boost']) || undefined)
  const unboosted = `Unboost for ${firstMention(setup).id}`
  await waitUntil('snac has heard of both', () => setup.snac.log().includes(unboosted) || undefined)
}

/** Finds the agent's only post that is not a reply. */
function findOwnPost(setup: SnacSetup): SnacDocument | undefined {
  return findAnswers(setup).find(({ inReplyTo }) => !inReplyTo)
}

/** Returns the id by which operator commands name that post. */
function nameOwnPost(setup: SnacSetup): string {
  return findOwnPost(setup)?.id.split('/').at(-1) ?? ''
}

async function doBoth(setup: SnacSetup, acts: readonly string[]): Promise<void> {
  const { message } = await readDeliveredMessage(setup, firstMention(setup))
  await setup.gateway.act(acts.map(act => ({ act, message: message.id })))
}

function hasReactions(setup: SnacSetup, wanted: readonly string[]): boolean {
  const reactions = setup.snac.reactionsOf(firstMention(setup).id, setup.gateway.actor)
  return JSON.stringify(reactions) === JSON.stringify(wanted)
}

function firstMention(setup: SnacSetup): SnacDocument {
  const [first] = ownPosts(setup)
  ok(first)
  return first
}
