// Renders an answer as the Markdown texts of one or more posts.
import { htmlToMarkdown } from '@postern/markup/html'
import type { ArtifactPart, FilePart, Json, LinkPart, Part, Policy, ShowRequirement } from '@postern/message'
import { hasRequirements, presentResponse } from '@postern/message'
import type { AnsweredTurn, Delivery } from '@postern/pipeline'
import type { PlatformTarget } from './normalize.ts'

/** The target of a delivery. */
export interface PostTarget extends PlatformTarget {
  /** True if only the person who is answered may read it, although others have read the message. */
  readonly isPrivate?: boolean
  /** The change of an earlier answer; absent for a new one. */
  readonly revision?: 'edit' | 'delete'
}

/** The posts of an answer. */
export interface RenderedPosts extends PostTarget {
  readonly response: string
  readonly agent: string
  readonly texts: readonly string[]
}

/** Returns the delivery of an answer. */
export function addressPosts({ turn, response }: AnsweredTurn) {
  return planDelivery(choosePostTarget(turn.target, response))
}

/** Returns the target of an answer. One with a decision goes to the asked person alone, because its link decides for whoever opens it. */
export function choosePostTarget(
  messageTarget: Json,
  { parts, visibility }: Pick<AnsweredTurn['response'], 'parts' | 'visibility'>,
): PostTarget {
  const target = readPostTarget(messageTarget)
  const isPrivate = !target.isDirect && (visibility === 'direct' || hasRequirements(parts))
  return { ...target, ...(isPrivate && { isPrivate }) }
}

function readPostTarget(target: Json): PostTarget {
  return target as unknown as PostTarget
}

export function planDelivery(target: PostTarget) {
  const { isPrivate, isDirect, subject, scope } = target
  const isForOne = isDirect || isPrivate === true
  return {
    deliveries: [{ to: isForOne ? subject : scope, target: { ...target }, ...(isForOne && { peer: subject }) }],
    aliases: [],
  }
}

interface RenderDeps {
  readonly maxPostChars: number
  readonly fileAddress?: ((digest: string) => string) | undefined
  readonly showRequirement?: ShowRequirement | undefined
  /** Returns the text in the form of the platform. */
  prepareText(markdown: string): string
}

/** Renders the posts of a delivery. It is pure. */
export function renderPosts(delivery: Delivery, deps: RenderDeps): RenderedPosts {
  const { response, message, agent } = delivery
  if (!response) throw new Error('a delivery to a platform without a response')
  const target = readPostTarget(delivery.target)
  const isForOne = target.isDirect || target.isPrivate === true
  const { parts } = presentResponse(response, message, isForOne ? deps.showRequirement : undefined)
  const blocks = parts.map(part => writeBlock(part, deps.fileAddress)).filter(block => block !== '')
  const text = deps.prepareText(blocks.join('\n\n'))
  const texts = target.revision === 'delete' ? [] : splitText(text, deps.maxPostChars)
  return { ...target, response: response.id, agent, texts }
}

function writeBlock(part: Part, fileAddress: RenderDeps['fileAddress']): string {
  if (part.kind === 'text') return part.mime === 'text/html' ? htmlToMarkdown(part.content) : part.content
  if (part.kind === 'link') return writeLink(part)
  if (part.kind === 'policy') return writeRequirement(part.policy)
  return part.kind === 'file' || part.kind === 'artifact' ? writeFile(part, fileAddress) : ''
}

function writeRequirement({ message, url }: Policy): string {
  return url === undefined ? message : `${message}\n\n${writeLink({ url, title: 'Decide' })}`
}

function writeFile(
  { name = 'file', bytes_ref }: FilePart | ArtifactPart,
  fileAddress: RenderDeps['fileAddress'],
): string {
  const stored = bytes_ref.kind === 'content_addressed' ? fileAddress?.(bytes_ref.digest) : undefined
  const url = stored ?? (bytes_ref.kind === 'url' ? bytes_ref.url : undefined)
  return url === undefined ? name : writeLink({ url, title: name })
}

/** Writes a link. Only addresses of web pages and mailboxes become links. */
function writeLink({ url, title = url }: Pick<LinkPart, 'url' | 'title'>): string {
  const parsed = URL.parse(url)
  if (!parsed || !/^(https?|mailto):$/.test(parsed.protocol)) return title
  const label = title.replace(/[[\]\\]/g, '\\$&')
  return `[${label}](${parsed.href.replaceAll('(', '%28').replaceAll(')', '%29')})`
}

/** Splits a text into pieces of at most `maxChars`, if possible between paragraphs, lines or words. */
export function splitText(text: string, maxChars: number): readonly string[] {
  const pieces: string[] = []
  let rest = text.trim()
  while (rest.length > maxChars) {
    const end = findBreak(rest.slice(0, maxChars))
    pieces.push(rest.slice(0, end).trimEnd())
    rest = rest.slice(end).trimStart()
  }
  return rest === '' ? pieces : [...pieces, rest]
}

/** Returns the position at which a text is cut. A piece is at least half full, and a pair of surrogates stays together. */
function findBreak(text: string): number {
  const breaks = ['\n\n', '\n', ' '].map(separator => text.lastIndexOf(separator))
  const end = breaks.find(position => position >= text.length / 2)
  if (end !== undefined) return end
  return /[\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length
}
