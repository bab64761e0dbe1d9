// Renders a response as a note, and the activities about it.
import type { Json, NormalizedResponse, Part } from '@postern/message'
import { activityIri, agentIris, pieceId, postIri, tagIri } from '../format/own-iris.ts'
import type { Rendering, ReplyTarget, Revision } from '../format/post-data.ts'
import { activityStreams, publicCollection } from '../format/vocabulary.ts'
import { toTagKey } from '../text/hashtags.ts'
import type { LinkedHtml } from '../text/link-mentions.ts'
import { linkMentionsAndHashtags } from '../text/link-mentions.ts'
import type { MentionedPerson } from '../text/mention.ts'
import { renderMention } from '../text/mention.ts'
import { partsToHtmlCached } from '../text/post-html.ts'
import { normalizeMentions } from '../text/select-mentions.ts'
import type { AttachedPart, StoredFileUrl } from './attachments.ts'
import { isShownAsMedia, renderAttachment } from './attachments.ts'
import { findPartsOfPiece } from './pieces.ts'

/** The data of a response that its rendering needs. */
export interface PublishedResponse {
  readonly origin: string
  /** The name of the agent. */
  readonly agent: string
  readonly response: NormalizedResponse
  readonly rendering: Rendering
  /** The number of the piece. Default: the first. */
  readonly piece?: number | undefined
  /** The further people whom the response mentions, if their actors were found. */
  readonly mentions?: readonly MentionedPerson[] | undefined
  /** The time of the last edit, ISO 8601 UTC. Absent if there was none. */
  readonly editedAt?: string | undefined
  readonly fileAddress?: StoredFileUrl
}

export type JsonMembers = { readonly [name: string]: Json | undefined }

const postContext: Json = [
  activityStreams,
  {
    sensitive: 'as:sensitive',
    Hashtag: 'as:Hashtag',
    ostatus: 'http://ostatus.org#',
    conversation: 'ostatus:conversation',
  },
]

/** Renders the `Create` with a post. It is pure, so the same response always gives the same document. */
export function renderCreate(published: PublishedResponse): JsonMembers {
  const note = renderNote(published)
  return wrapNote(note, { id: activityIri(String(note.id)), type: 'Create', published: note.published })
}

/** Returns the activity about a post, with the audience of the post. */
function wrapNote({ '@context': context, ...note }: JsonMembers, { id, type, published }: JsonMembers): JsonMembers {
  const { attributedTo, to, cc } = note
  return { '@context': context, id, type, actor: attributedTo, published, to, cc, object: note }
}

/** Renders a post as its id serves it. It is pure. */
export function renderNote(published: PublishedResponse): JsonMembers {
  const { agent, origin, response, rendering, piece = 0, editedAt } = published
  const { reply } = rendering
  const id = formatPieceIri(published, piece)
  const parts = findPartsOfPiece(response.parts, rendering, piece) ?? []
  const mentions = listMentions(published)
  const linkedHtml = renderText(published, parts, mentions)
  const content = published.piece ? linkedHtml.html : prependMentions(linkedHtml, published, mentions)
  const attachment = parts.filter(isFile).flatMap(part => renderAttachment(part, published.fileAddress))
  const summary = reply?.summary ?? response.subject
  return {
    '@context': postContext,
    id,
    type: 'Note',
    attributedTo: agentIris(origin, agent).actor,
    inReplyTo: piece > 0 ? formatPieceIri(published, piece - 1) : (reply?.object ?? null),
    ...(reply?.context && { context: reply.context }),
    ...(reply?.conversation && { conversation: reply.conversation }),
    published: response.created_at,
    ...(editedAt && { updated: editedAt }),
    url: id,
    ...renderAudience(published),
    summary: summary ?? null,
    sensitive: reply?.sensitive === true || summary !== undefined,
    content,
    ...(reply?.language && { contentMap: { [reply.language]: content } }),
    tag: [
      ...mentions.map(({ href, name }) => ({ type: 'Mention', href, name })),
      ...linkedHtml.tags.map(tag => ({ type: 'Hashtag', href: tagIri(origin, agent, toTagKey(tag)), name: `#${tag}` })),
    ],
    ...(attachment.length > 0 && { attachment }),
  }
}

export function formatPieceIri({ origin, agent, response }: PublishedResponse, piece: number): string {
  return postIri(origin, agent, pieceId(response.id, piece))
}

/** Returns the author of the answered post, then the other mentioned people. */
function listMentions({ rendering: { reply }, mentions = [] }: PublishedResponse): readonly MentionedPerson[] {
  return reply ? [toMentionedAuthor(reply), ...mentions] : mentions
}

function toMentionedAuthor({ actor, address, url }: ReplyTarget): MentionedPerson {
  return { href: actor, name: address ?? actor, url: url ?? actor }
}

type Audience = { readonly to: readonly string[]; readonly cc: readonly string[] }

/** The addressing of each visibility, as Mastodon writes it. */
const audienceRenderers: Record<Rendering['visibility'], (followers: string, people: readonly string[]) => Audience> = {
  public: (followers, people) => ({ to: [publicCollection], cc: [followers, ...people] }),
  unlisted: (followers, people) => ({ to: [followers], cc: [publicCollection, ...people] }),
  followers: (followers, people) => ({ to: [followers], cc: people }),
  direct: (_, people) => ({ to: people, cc: [] }),
}

function renderAudience(published: PublishedResponse): Audience {
  const { origin, agent, rendering } = published
  const people = listMentions(published).map(({ href }) => href)
  return audienceRenderers[rendering.visibility](agentIris(origin, agent).followers, people)
}

function isFile(part: Part): part is AttachedPart {
  return part.kind === 'file' || part.kind === 'artifact'
}

function renderText(
  published: PublishedResponse,
  parts: readonly Part[],
  mentionedPeople: readonly MentionedPerson[],
): LinkedHtml {
  const { origin, agent, response, fileAddress } = published
  const shownParts = parts.filter(part => !(isFile(part) && isShownAsMedia(part, fileAddress)))
  const status = parts.length > shownParts.length ? 'completed' : response.status
  const html = partsToHtmlCached({ parts: shownParts, status })
  return linkMentionsAndHashtags(html, {
    mentions: mentionedPeople,
    formatTagIri: tag => tagIri(origin, agent, tag),
    tagIriKey: `${origin} ${agent}`,
  })
}

/**
 * Writes mentions in front of the text. Mastodon notifies only people whom the text, `tag` and the addressing all name.
 * So the text begins with the author of the answered post, and with the mentioned people whom it does not name itself.
 * Later posts of the thread need no names.
 */
function prependMentions(
  { html, mentionedNames }: LinkedHtml,
  published: PublishedResponse,
  mentionedPeople: readonly MentionedPerson[],
): string {
  const { response, rendering, mentions = [] } = published
  const chosenNames = normalizeMentions(response.mentions)
  const missingMentions = mentions.filter(({ name }) => chosenNames.includes(name) && !mentionedNames.has(name))
  const leadingMentions = rendering.reply ? [...mentionedPeople.slice(0, 1), ...missingMentions] : missingMentions
  if (leadingMentions.length === 0) return html
  const names = leadingMentions.map(mention => renderMention(mention)).join(' ')
  return html.startsWith('<p>') ? `<p>${names} ${html.slice(3)}` : `<p>${names}</p>${html}`
}

/** Renders the `Update` or `Delete` of one post. A post that the edited text no longer needs is deleted. It is pure. */
export function renderRevision(published: PublishedResponse, { act, id, at }: Revision): JsonMembers {
  const { response, rendering, piece = 0, origin, agent } = published
  const post = formatPieceIri(published, piece)
  if (act === 'edit' && findPartsOfPiece(response.parts, rendering, piece)) {
    const note = renderNote({ ...published, editedAt: at })
    return wrapNote(note, { id: `${post}/updates/${id}`, type: 'Update', published: at })
  }
  return {
    '@context': postContext,
    id: `${post}/deletes/${id}`,
    type: 'Delete',
    actor: agentIris(origin, agent).actor,
    published: at,
    ...renderAudience(published),
    object: { id: post, type: 'Tombstone' },
  }
}
