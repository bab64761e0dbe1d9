import type { CurrentMessage, Part } from '@postern/core'
import { findWebAddress } from '../format/iri.ts'
import { readReplyTarget } from '../format/reply-target.ts'
import { isOpen } from '../format/visibility.ts'
import type { IsBlocked } from '../peers/blocklist.ts'
import { isBlockedAddress } from '../peers/blocklist.ts'
import { partsToHtml } from '../words/parts-to-html.ts'
import type { PostCard } from './post-card.ts'

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
