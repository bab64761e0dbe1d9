import type { AgentProfile, Json } from '@postern/core'
import { memoize } from '../cache/memoize.ts'
import type { JsonObject } from '../format/reading.ts'
import { asObject, textOf } from '../format/reading.ts'
import { sanitizeHtml } from '../html/sanitize.ts'
import type { Answered } from '../posts/render.ts'
import { renderNote } from '../posts/render.ts'
import { readNamedWords } from '../words/words-called.ts'
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
    media: listAttachments(note.attachment)
      .map(asObject)
      .flatMap(json => readMedia(json, agent.origin)),
  }
}

function listAttachments(attachment: Json | undefined): readonly Json[] {
  return Array.isArray(attachment) ? attachment : []
}

/** A page loads nothing from elsewhere: what lies there may be a stranger's, who would learn who reads. */
function readMedia(json: JsonObject | undefined, origin: string): readonly Media[] {
  const url = textOf(json?.url)
  const mediaType = textOf(json?.mediaType)
  if (!url?.startsWith(`${origin}/`) || mediaType === undefined) return []
  return [{ url, mediaType, name: textOf(json?.name) ?? '' }]
}
