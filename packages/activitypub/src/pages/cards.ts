import type { AgentDirectory, AgentProfile, CurrentMessage, LookupStore, Part, ShowRequirement } from '@postern/core'
import { memoize } from '@postern/limits'
import type { JsonObject } from '../format/document.ts'
import { asObject, findWebAddress, isOpen, listOf, readReplyTarget, textOf } from '../format/document.ts'
import { sanitizeHtml } from '../html/sanitize.ts'
import type { IsBlocked } from '../peers/known-peers.ts'
import { isBlockedAddress } from '../peers/known-peers.ts'
import type { Answered } from '../posts/answers.ts'
import { renderNote } from '../posts/answers.ts'
import { toAnswered } from '../posts/posts.ts'
import { partsToHtml, readNamedWords } from '../words/words.ts'
import type { Author, Media, PostCard } from './post-card.ts'

/** The agent whose pages these are. */
export interface PageAgent {
  readonly profile: AgentProfile
  readonly domain: string
  readonly origin: string
}

const remember = memoize<string>()

/** Long answers are read many times. */
function sanitizeOnce(content: string): string {
  return remember(content, () => sanitizeHtml(content))
}

export function describeAgent({ profile, domain, origin }: PageAgent): Author {
  const { name, displayName, iconUrl } = profile
  return { name: displayName, handle: `@${name}@${domain}`, url: `${origin}/agents/${name}`, icon: iconUrl }
}

/** A response of an agent, as the network reads it. Pure. */
export function describeOwnPost(answered: Answered, agent: PageAgent): PostCard {
  const note = renderNote(answered)
  const { response, rendering, editedAt } = answered
  const warning = textOf(note.summary)
  return {
    author: describeAgent(agent),
    url: String(note.id),
    publishedAt: response.created_at,
    editedAt,
    language: rendering.reply?.language,
    ...(warning !== undefined && { warning }),
    words: sanitizeOnce(String(note.content)),
    tags: readNamedWords(response.parts).tags,
    media: listOf(note.attachment)
      .map(asObject)
      .flatMap(json => readMedia(json, agent.origin)),
  }
}

/** A page loads nothing from elsewhere: what lies there may be a stranger's, who would learn who reads. */
function readMedia(json: JsonObject | undefined, origin: string): readonly Media[] {
  const url = textOf(json?.url)
  const mediaType = textOf(json?.mediaType)
  if (!url?.startsWith(`${origin}/`) || mediaType === undefined) return []
  return [{ url, mediaType, name: textOf(json?.name) ?? '' }]
}

/** UTF-16 code units; the rest is where the post is. */
const maxWords = 2_000

/**
 * A peer's post beside an agent's one. Undefined when it is not public, is no post, or its author is blocked. Its words
 * are those that the agent read: plain text. Pure.
 */
export function describePeerPost({ message, target }: CurrentMessage, isBlocked: IsBlocked): PostCard | undefined {
  const reply = readReplyTarget(target)
  const isPost = message.kind === undefined || message.kind === 'message' || message.kind === 'edit'
  if (!isPost || !reply.object || !isOpen(reply.visibility) || isBlockedAddress(reply.actor, isBlocked))
    return undefined
  const handle = reply.address ?? reply.actor
  return {
    author: {
      name: message.sender.display_name ?? handle,
      handle,
      url: findWebAddress(reply.url ?? reply.actor),
    },
    url: findWebAddress(reply.object),
    publishedAt: message.received_at,
    language: reply.language,
    ...(reply.summary !== undefined && { warning: reply.summary }),
    words: partsToHtml({ status: 'completed', parts: message.parts.map(shorten) }),
    tags: [],
    media: [],
  }
}

function shorten(part: Part): Part {
  if (part.kind !== 'text' || part.content.length <= maxWords) return part
  return { ...part, content: `${part.content.slice(0, maxWords).toWellFormed()}…` }
}

export interface RecentDeps {
  readonly store: Pick<LookupStore, 'listResponses'>
  readonly agents: Pick<AgentDirectory, 'origin' | 'domain'>
  readonly fileAddress: Answered['fileAddress']
  readonly showRequirement?: ShowRequirement | undefined
}

/** An agent's public posts, newest first. A long answer is listed by its first post. */
export async function listRecentPosts(
  profile: AgentProfile,
  limit: number,
  { store, agents, ...deps }: RecentDeps,
): Promise<readonly PostCard[]> {
  const listed = await store.listResponses({ agent: profile.name, via: 'activitypub', isListed: true, limit })
  const agent = { profile, domain: agents.domain, origin: agents.origin }
  return listed.map(found => describeOwnPost(toAnswered(found, { ...deps, origin: agents.origin }), agent))
}
