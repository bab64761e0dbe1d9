// Writes the parts of a response as the HTML of a post.

import { memoize } from '@postern/limits'
import { markdownToPostHtml } from '@postern/markup/markdown'
import type { NormalizedResponse, Part, ResponseStatus, TextPart } from '@postern/message'
import { escapeHtml } from '@postern/message'
import { findWebUrl } from '../format/iri.ts'
import { sanitizePost } from '../html/sanitize.ts'

type PartWriters = { readonly [Kind in Part['kind']]: (part: Extract<Part, { kind: Kind }>) => string }

const textWriters: { readonly [Mime in TextPart['mime']]: (content: string) => string } = {
  'text/plain': plainToHtml,
  'text/markdown': markdownToPostHtml,
  'text/html': sanitizePost,
}

/** The writers of each kind of part. */
const partWriters: PartWriters = {
  text: ({ mime, content }) => textWriters[mime](content),
  link: ({ url, title, description }) => renderParagraph(renderLink(url, title ?? url), description),
  file: ({ name, bytes_ref }) => renderParagraph(renderAttachment(name, bytes_ref)),
  artifact: ({ name, bytes_ref }) => renderParagraph(renderAttachment(name, bytes_ref)),
  tool_call: ({ name, result, error }) =>
    renderParagraph(`<code>${escapeHtml(name)}</code>`, describeCallState(result, error)),
  policy: ({ policy }) =>
    renderParagraph(escapeHtml(policy.message), undefined, renderAction(policy.url, policy.action_label)),
}

/** The text of a response without text, by its status. */
const placeholderByStatus: Readonly<Record<ResponseStatus, string>> = {
  completed: '',
  input_required: 'More is needed to go on.',
  auth_required: 'Who you are has to be known first.',
  rejected: 'This was declined.',
  failed: 'This could not be answered.',
  working: 'Still working on it.',
}

const memoizeHtml = memoize<string>({ sizeOf: html => html.length })

/** The parts of a post's text, and the status of the response. */
interface PostContent extends Pick<NormalizedResponse, 'status'> {
  readonly parts: readonly Part[]
}

/** Writes parts like `partsToHtml`, and caches the HTML of posts that are sent and read many times. */
export function partsToHtmlCached({ parts, status }: PostContent): string {
  return memoizeHtml(JSON.stringify([status, parts]), () => partsToHtml({ parts, status }))
}

/** Writes the parts of a response as HTML. It is pure. */
export function partsToHtml({ parts, status }: PostContent): string {
  const html = parts.map(renderPart).join('')
  return html || renderParagraph(escapeHtml(placeholderByStatus[status]))
}

/** Writes an agent's description with paragraphs, and with URLs as links. It is pure. */
export function describeInHtml(description: string): string {
  return partsToHtml({ status: 'completed', parts: [{ kind: 'text', mime: 'text/plain', content: description }] })
}

/** Writes one part. An unknown kind has no text. */
function renderPart(part: Part): string {
  const writePart = Object.hasOwn(partWriters, part.kind)
    ? (partWriters[part.kind] as (part: Part) => string)
    : () => ''
  return writePart(part)
}

function plainToHtml(text: string): string {
  return text
    .trim()
    .split(/\n{2,}/)
    .map(block => renderParagraph(linkUrls(block).replaceAll('\n', '<br>')))
    .join('')
}

function linkUrls(text: string): string {
  return text
    .split(/(https?:\/\/[^\s<>"']{1,2048})/)
    .map((segment, index) => (index % 2 === 1 ? linkUrl(segment) : escapeHtml(segment)))
    .join('')
}

function linkUrl(text: string): string {
  const url = trimUrl(text)
  return renderLink(url, url) + escapeHtml(text.slice(url.length))
}

/** Removes the end of a sentence from the address in it. */
function trimUrl(url: string): string {
  const trimmedUrl = url.replace(/[.,;:!?*_~]{1,16}$/, '')
  return trimmedUrl.endsWith(')') && !trimmedUrl.includes('(') ? trimmedUrl.slice(0, -1) : trimmedUrl
}

function renderParagraph(html: string, note?: string, suffix = ''): string {
  return html ? `<p>${html}${note ? `: ${escapeHtml(note)}` : ''}${suffix}</p>` : ''
}

function renderLink(url: string, label: string): string {
  const href = findWebUrl(url)
  return href
    ? `<a href="${escapeHtml(href)}" rel="nofollow noopener noreferrer">${escapeHtml(label)}</a>`
    : escapeHtml(label)
}

type BytesRef = Extract<Part, { kind: 'file' }>['bytes_ref']

/** Writes a link to a file, or only its name if it has no public address. */
function renderAttachment(name: string | undefined, ref: BytesRef): string {
  const label = name ?? 'Attachment'
  return ref.kind === 'url' ? renderLink(ref.url, label) : escapeHtml(label)
}

function describeCallState(result: unknown, error: { readonly message: string } | undefined): string {
  if (error) return `failed, ${error.message}`
  return result === undefined ? 'begun' : 'done'
}

function renderAction(url: string | undefined, label: string | undefined): string {
  return url ? ` ${renderLink(url, label ?? url)}` : ''
}
