import type { NormalizedResponse, Part, ResponseStatus, TextPart } from '@postern/core'
import { escapeHtml } from '@postern/core'
import { markdownToPostHtml } from '@postern/markup/markdown'
import { memoize } from '../cache/memoize.ts'
import { findWebAddress } from '../format/iri.ts'
import { sanitizeHtml } from '../html/sanitize.ts'

type PartWriters = { readonly [Kind in Part['kind']]: (part: Extract<Part, { kind: Kind }>) => string }

const textWriters: { readonly [Mime in TextPart['mime']]: (content: string) => string } = {
  'text/plain': plainToHtml,
  'text/markdown': markdownToPostHtml,
  'text/html': sanitizeHtml,
}

/** How each kind of part reads in a post. */
const partWriters: PartWriters = {
  text: ({ mime, content }) => textWriters[mime](content),
  link: ({ url, title, description }) => paragraph(linkTo(url, title ?? url), description),
  file: ({ name, bytes_ref }) => paragraph(attachmentOf(name, bytes_ref)),
  artifact: ({ name, bytes_ref }) => paragraph(attachmentOf(name, bytes_ref)),
  tool_call: ({ name, result, error }) => paragraph(`<code>${escapeHtml(name)}</code>`, stateOfCall(result, error)),
  policy: ({ policy }) => paragraph(escapeHtml(policy.message), undefined, actionOf(policy.url, policy.action_label)),
}

/** The text of an answer without words, by its state. */
const stateTexts: Readonly<Record<ResponseStatus, string>> = {
  completed: '',
  input_required: 'More is needed to go on.',
  auth_required: 'Who you are has to be known first.',
  rejected: 'This was declined.',
  failed: 'This could not be answered.',
  working: 'Still working on it.',
}

const remember = memoize<string>()

/** As `partsToHtml`, for what is sent and read many times. */
export function partsToHtmlOnce({ parts, status }: Pick<NormalizedResponse, 'parts' | 'status'>): string {
  return remember(JSON.stringify([status, parts]), () => partsToHtml({ parts, status }))
}

/** The parts of an answer as HTML. Pure. */
export function partsToHtml({ parts, status }: Pick<NormalizedResponse, 'parts' | 'status'>): string {
  const html = parts.map(writePart).join('')
  return html || paragraph(escapeHtml(stateTexts[status]))
}

/** An agent's description: paragraphs, and addresses as links. Pure. */
export function describeInHtml(description: string): string {
  return partsToHtml({ status: 'completed', parts: [{ kind: 'text', mime: 'text/plain', content: description }] })
}

/** A kind that is not known here has no reading. */
function writePart(part: Part): string {
  const write = Object.hasOwn(partWriters, part.kind) ? (partWriters[part.kind] as (part: Part) => string) : () => ''
  return write(part)
}

function plainToHtml(text: string): string {
  return text
    .trim()
    .split(/\n{2,}/)
    .map(block => paragraph(withAddresses(block).replaceAll('\n', '<br>')))
    .join('')
}

function withAddresses(text: string): string {
  return text
    .split(/(https?:\/\/[^\s<>"']{1,2048})/)
    .map((piece, at) => (at % 2 === 1 ? linkAddress(piece) : escapeHtml(piece)))
    .join('')
}

function linkAddress(found: string): string {
  const address = trimAddress(found)
  return linkTo(address, address) + escapeHtml(found.slice(address.length))
}

/** The end of a sentence is not part of the address in it. */
function trimAddress(address: string): string {
  const bare = address.replace(/[.,;:!?*_~]{1,16}$/, '')
  return bare.endsWith(')') && !bare.includes('(') ? bare.slice(0, -1) : bare
}

function paragraph(html: string, note?: string, more = ''): string {
  return html ? `<p>${html}${note ? `: ${escapeHtml(note)}` : ''}${more}</p>` : ''
}

function linkTo(url: string, label: string): string {
  const href = findWebAddress(url)
  return href
    ? `<a href="${escapeHtml(href)}" rel="nofollow noopener noreferrer">${escapeHtml(label)}</a>`
    : escapeHtml(label)
}

type BytesRef = Extract<Part, { kind: 'file' }>['bytes_ref']

/** Bytes without a public address are named, no more. */
function attachmentOf(name: string | undefined, ref: BytesRef): string {
  const label = name ?? 'Attachment'
  return ref.kind === 'url' ? linkTo(ref.url, label) : escapeHtml(label)
}

function stateOfCall(result: unknown, error: { readonly message: string } | undefined): string {
  if (error) return `failed, ${error.message}`
  return result === undefined ? 'begun' : 'done'
}

function actionOf(url: string | undefined, label: string | undefined): string {
  return url ? ` ${linkTo(url, label ?? url)}` : ''
}
