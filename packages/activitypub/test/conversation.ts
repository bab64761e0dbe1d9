// Serves conversations on a peer, and mentions the agent in them.
import type { Entry } from '@postern/pipeline'
import { expect, vi } from 'vitest'
import { publicCollection } from '../src/format/vocabulary.ts'
import type { Peer } from './peer.ts'
import type { PeerAccount } from './person.ts'
import { composeNote, postActivity } from './person.ts'
import type { Stage } from './stage.ts'

type Document = Record<string, unknown>

let counter = 0

/** Puts a public post on its author's server, in the form of Mastodon; members of `note` override it. @returns its IRI */
export function servePost(peer: Peer, author: PeerAccount, note: Document = {}): string {
  counter += 1
  const id = `${author.id}/posts/${counter}`
  peer.serve(id, { body: composePost(author, id, note) })
  return id
}

export function composePost(author: PeerAccount, id: string, note: Document = {}): Document {
  return {
    '@context': ['https://www.w3.org/ns/activitystreams', { sensitive: 'as:sensitive', Hashtag: 'as:Hashtag' }],
    id,
    type: 'Note',
    attributedTo: author.id,
    content: `<p>words of ${author.name}</p>`,
    published: '2026-01-02T03:04:05Z',
    to: [publicCollection],
    cc: [`${author.id}/followers`],
    ...note,
  }
}

/** Serves a chain of posts by these authors in turn, each a reply to the one before. @returns their IRIs, oldest first */
export function serveChain(peer: Peer, authors: readonly PeerAccount[], count: number, note: Document = {}): string[] {
  const ids: string[] = []
  for (let at = 0; at < count; at += 1) {
    const author = authors[at % authors.length] as PeerAccount
    const content = `<p>${at + 1} by ${author.name}</p>`
    ids.push(servePost(peer, author, { content, ...(at > 0 && { inReplyTo: ids[at - 1] }), ...note }))
  }
  return ids
}

/** Mentions the agent in a post, waits for its call, and returns the earlier texts of the thread. */
export async function mention(stage: Stage, author: PeerAccount, note: Document = {}): Promise<readonly Entry[]> {
  const { gateway } = stage
  const activity = composeNote(author, note)
  const before = gateway.resolved.length
  expect(await postActivity(gateway, author, activity)).toMatchObject({ status: 202 })
  await vi.waitFor(() => expect(gateway.resolved.length).toBeGreaterThan(before))
  return recall(stage, String(activity.id))
}

export async function recall({ gateway }: Stage, message: string): Promise<readonly Entry[]> {
  const record = await gateway.store.findMessage(message)
  if (!record) throw new Error(`there is no message ${message}`)
  return gateway.store.readHistory({ thread: record.thread, beforeMessage: record.number, head: 0, tail: 99 })
}

export function textsOf(entries: readonly Entry[]): readonly string[] {
  return entries.map(({ parts }) => parts.map(part => (part.kind === 'text' ? part.content : part.kind)).join('|'))
}
