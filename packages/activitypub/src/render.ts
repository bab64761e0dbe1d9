import type { Json, NormalizedResponse, Part } from '@postern/core'
import { escapeHtml } from '@postern/core'
import { activityIri, agentIris, postIri } from './own-iris.ts'
import { partsToHtml } from './parts-to-html.ts'
import type { ReplyTarget } from './reply-target.ts'
import { replyVisibility } from './visibility.ts'
import { activityStreams, publicCollection } from './vocabulary.ts'

export interface Answered {
  readonly origin: string
  /** The agent's name. */
  readonly agent: string
  readonly response: NormalizedResponse
  readonly target: ReplyTarget
  /** Further people the answer speaks to, as far as they could be looked up. */
  readonly mentions?: readonly Mentioned[]
}

/** Somebody to notify. */
export interface Mentioned {
  /** Actor IRI. */
  readonly href: string
  /** `@user@host`, or the IRI when the host does not confirm one. */
  readonly name: string
  /** A page to show people. */
  readonly url: string
}

type JsonMembers = { readonly [name: string]: Json | undefined }

const replyContext: Json = [
  activityStreams,
  { sensitive: 'as:sensitive', ostatus: 'http://ostatus.org#', conversation: 'ostatus:conversation' },
]

/** The `Create` that carries an answer. Pure: the same answer is the same document, whenever it is rendered. */
export function renderCreate(answered: Answered): JsonMembers {
  const { '@context': context, ...note } = renderNote(answered)
  const { id, published, to, cc, attributedTo } = note
  return {
    '@context': context,
    id: activityIri(String(id)),
    type: 'Create',
    actor: attributedTo,
    published,
    to,
    cc,
    object: note,
  }
}

/** The post itself, as it is served under its id. Pure. */
export function renderNote(answered: Answered): JsonMembers {
  const { origin, agent, response, target } = answered
  const id = postIri(origin, agent, response.id)
  const mentioned = [authorOf(target), ...(answered.mentions ?? [])]
  const content = withMentions(partsToHtml(response), mentioned)
  const attachment = response.parts.flatMap(toDocument)
  return {
    '@context': replyContext,
    id,
    type: 'Note',
    attributedTo: agentIris(origin, agent).actor,
    inReplyTo: target.object ?? null,
    ...(target.context && { context: target.context }),
    ...(target.conversation && { conversation: target.conversation }),
    published: response.created_at,
    url: id,
    ...addressTo(answered, mentioned),
    summary: target.summary ?? null,
    sensitive: target.sensitive === true || target.summary !== undefined,
    content,
    ...(target.language && { contentMap: { [target.language]: content } }),
    tag: mentioned.map(({ href, name }) => ({ type: 'Mention', href, name })),
    ...(attachment.length > 0 && { attachment }),
  }
}

function authorOf({ actor, address, url }: ReplyTarget): Mentioned {
  return { href: actor, name: address ?? actor, url: url ?? actor }
}

type Audience = { readonly to: readonly string[]; readonly cc: readonly string[] }

/** As Mastodon addresses each visibility. */
const audiences: Record<
  ReturnType<typeof replyVisibility>,
  (followers: string, people: readonly string[]) => Audience
> = {
  public: (followers, people) => ({ to: [publicCollection], cc: [followers, ...people] }),
  unlisted: (followers, people) => ({ to: [followers], cc: [publicCollection, ...people] }),
  followers: (followers, people) => ({ to: [followers], cc: people }),
  direct: (_, people) => ({ to: people, cc: [] }),
}

function addressTo({ origin, agent, response, target }: Answered, mentioned: readonly Mentioned[]): Audience {
  const visibility = replyVisibility(target.visibility, response.visibility)
  return audiences[visibility](
    agentIris(origin, agent).followers,
    mentioned.map(({ href }) => href),
  )
}

/** Mastodon notifies only those who are named in the text, in `tag` and in the addressing. */
function withMentions(html: string, mentioned: readonly Mentioned[]): string {
  const names = mentioned.map(writeMention).join(' ')
  return html.startsWith('<p>') ? `<p>${names} ${html.slice(3)}` : `<p>${names}</p>${html}`
}

function writeMention({ name, url }: Mentioned): string {
  const label = /^@([^@]+)@/.exec(name)?.[1] ?? name
  return `<span class="h-card"><a href="${escapeHtml(url)}" class="u-url mention">@<span>${escapeHtml(label)}</span></a></span>`
}

function toDocument(part: Part): readonly Json[] {
  if ((part.kind !== 'file' && part.kind !== 'artifact') || part.bytes_ref.kind !== 'url') return []
  const { name, mime, bytes_ref } = part
  return [{ type: 'Document', url: bytes_ref.url, ...(mime && { mediaType: mime }), ...(name && { name }) }]
}
