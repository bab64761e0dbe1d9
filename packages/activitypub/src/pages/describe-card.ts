// Collects the author, dates, text and media that the HTML card of a post shows.
import { memoize } from '@postern/limits'
import type { Part, ShowRequirement } from '@postern/message'
import type { AgentDirectory, AgentProfile, LookupStore, MessageView } from '@postern/pipeline'
import type { IsBlocked } from '../domains/blocklist.ts'
import { isBlockedUrl } from '../domains/blocklist.ts'
import { findWebUrl } from '../format/iri.ts'
import type { JsonObject } from '../format/json-object.ts'
import { asObject, listOf, textOf } from '../format/json-object.ts'
import { readReplyTarget } from '../format/targets.ts'
import { isReadableByEveryone } from '../format/visibility.ts'
import { sanitizePost } from '../html/sanitize.ts'
import { toPublishedResponse } from '../posts/posts.ts'
import type { PublishedResponse } from '../posts/render-post.ts'
import { renderNote } from '../posts/render-post.ts'
import { partsToHtml } from '../text/post-html.ts'
import { readTextReferences } from '../text/text-references.ts'
import type { Author, Media, PostCard } from './render-card.ts'

/** The agent that the pages belong to. */
export interface PageAgent {
  readonly profile: AgentProfile
  readonly domain: string
  readonly origin: string
}

const memoizeSanitized = memoize<string>({ sizeOf: html => html.length })

/** Sanitizes a post once and caches the result, because people read long answers many times. */
function sanitizeCached(content: string): string {
  return memoizeSanitized(content, () => sanitizePost(content))
}

export function describeAgent({ profile, domain, origin }: PageAgent): Author {
  const { name, displayName, iconUrl } = profile
  return { name: displayName, handle: `@${name}@${domain}`, url: `${origin}/agents/${name}`, icon: iconUrl }
}

/** Describes an agent's response as peers see it. It is pure. */
export function describeOwnPost(published: PublishedResponse, agent: PageAgent): PostCard {
  const note = renderNote(published)
  const { response, rendering, editedAt } = published
  const warning = textOf(note.summary)
  return {
    author: describeAgent(agent),
    url: String(note.id),
    publishedAt: response.created_at,
    editedAt,
    language: rendering.reply?.language,
    ...(warning !== undefined && { warning }),
    contentHtml: sanitizeCached(String(note.content)),
    tags: readTextReferences(response.parts).hashtags,
    media: listOf(note.attachment)
      .map(asObject)
      .flatMap(json => readMedia(json, agent.origin)),
  }
}

/** Describes an attachment on our own origin. A page loads nothing from other servers, because they would learn who reads it. */
function readMedia(json: JsonObject | undefined, origin: string): readonly Media[] {
  const url = textOf(json?.url)
  const mediaType = textOf(json?.mediaType)
  if (!url?.startsWith(`${origin}/`) || mediaType === undefined) return []
  return [{ url, mediaType, name: textOf(json?.name) ?? '' }]
}

/** The most UTF-16 code units that a page shows of each part of a peer's post. It links to the post for the rest. */
const maxPeerTextChars = 2_000

/**
 * Describes a peer's post for a page about an agent's post. Returns undefined if the message is not a public post, or its author is blocked. The
 * text of the card is the plain text that the agent read. It is pure.
 */
export function describePeerPost({ message, target }: MessageView, isBlocked: IsBlocked): PostCard | undefined {
  const reply = readReplyTarget(target)
  const isPost = message.kind === undefined || message.kind === 'message' || message.kind === 'edit'
  if (!isPost || !reply.object || !isReadableByEveryone(reply.visibility) || isBlockedUrl(reply.actor, isBlocked))
    return undefined
  const handle = reply.address ?? reply.actor
  return {
    author: {
      name: message.sender.display_name ?? handle,
      handle,
      url: findWebUrl(reply.url ?? reply.actor),
    },
    url: findWebUrl(reply.object),
    publishedAt: message.received_at,
    language: reply.language,
    ...(reply.summary !== undefined && { warning: reply.summary }),
    contentHtml: partsToHtml({ status: 'completed', parts: message.parts.map(shortenPart) }),
    tags: [],
    media: [],
  }
}

function shortenPart(part: Part): Part {
  if (part.kind !== 'text' || part.content.length <= maxPeerTextChars) return part
  return { ...part, content: `${part.content.slice(0, maxPeerTextChars).toWellFormed()}…` }
}

export interface RecentPostDeps {
  readonly store: Pick<LookupStore, 'listResponses'>
  readonly agents: Pick<AgentDirectory, 'origin' | 'domain'>
  readonly fileAddress: PublishedResponse['fileAddress']
  readonly showRequirement?: ShowRequirement | undefined
}

/** Lists an agent's public posts, newest first. A long answer is listed by its first post. */
export async function listRecentPosts(
  profile: AgentProfile,
  limit: number,
  { store, agents, ...deps }: RecentPostDeps,
): Promise<readonly PostCard[]> {
  const responses = await store.listResponses({ agent: profile.name, via: 'activitypub', isListed: true, limit })
  const agent = { profile, domain: agents.domain, origin: agents.origin }
  return responses.map(response =>
    describeOwnPost(toPublishedResponse(response, { ...deps, origin: agents.origin }), agent),
  )
}
