import type { AgentChain, NormalizedResponse, Part, ResponseStatus, TextPart } from '@postern/core'
import { decodeEntities, escapeHtml, formatAddress, isFinalHop, parseIfAddress } from '@postern/core'
import { memoize } from '@postern/limits'
import { markdownToPostHtml } from '@postern/markup/markdown'
import { findWebAddress, isOpen } from '../format/document.ts'
import type { Rendering } from '../format/post-data.ts'
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

const rememberHtml = memoize<string>()

/** What the text of a post is made of. */
interface Worded extends Pick<NormalizedResponse, 'status'> {
  readonly parts: readonly Part[]
}

/** As `partsToHtml`, for what is sent and read many times. */
export function partsToHtmlOnce({ parts, status }: Worded): string {
  return rememberHtml(JSON.stringify([status, parts]), () => partsToHtml({ parts, status }))
}

/** The parts of an answer as HTML. Pure. */
export function partsToHtml({ parts, status }: Worded): string {
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

/** The names and tags in the words of an answer, in order, each once. */
interface NamedWords {
  /** `@user@host` */
  readonly names: readonly string[]
  /** Without `#`. */
  readonly tags: readonly string[]
}

/** Tags of one post; more are text. */
const maxTags = 30
const rememberNamed = memoize<NamedWords>()

/** Names and tags in the words of an answer, all of its posts together. Pure. */
export function readNamedWords(parts: readonly Part[]): NamedWords {
  const worded = parts.filter(part => part.kind === 'text')
  return rememberNamed(JSON.stringify(worded), () =>
    collectWords(partsToHtmlOnce({ parts: worded, status: 'completed' })),
  )
}

function collectWords(html: string): NamedWords {
  const names = new Set<string>()
  const tags = new Map<string, string>()
  mapWords(html, {
    name: address => void names.add(address),
    tag: label => {
      const key = tagKey(label)
      if (!tags.has(key) && tags.size < maxTags) tags.set(key, label)
      return undefined
    },
  })
  return { names: [...names], tags: [...tags.values()] }
}

/** It is one tag, whatever the case and the width of its letters. */
export function tagKey(label: string): string {
  return label.normalize('NFKC').toLowerCase()
}

/** HTML with its names and tags as links. */
export interface LinkedWords {
  readonly html: string
  /** In order, each once, without `#`. */
  readonly tags: readonly string[]
  /** Names of mentioned people that occur in it. */
  readonly named: ReadonlySet<string>
}

interface LinkOptions {
  /** Names of others stay text. */
  readonly mentioned: readonly Mentioned[]
  tagIri(tag: string): string
  /** Distinguishes tags that differ in `tagIri`. */
  readonly memoKey: string
}

const rememberLinked = memoize<LinkedWords>()

/** Long texts are linked once, however often they are read. Pure. */
export function linkWords(html: string, options: LinkOptions): LinkedWords {
  return rememberLinked(JSON.stringify([options.memoKey, options.mentioned, html]), () => link(html, options))
}

function link(html: string, { mentioned, tagIri }: LinkOptions): LinkedWords {
  const people = new Map(mentioned.map(each => [each.name, each]))
  const tags = new Map<string, string>()
  const named = new Set<string>()
  const linked = mapWords(html, {
    name(address) {
      const found = people.get(address)
      if (found) named.add(address)
      return found && writeMention(found, address.slice(1))
    },
    tag(label) {
      const key = tagKey(label)
      if (!tags.has(key) && tags.size >= maxTags) return undefined
      if (!tags.has(key)) tags.set(key, label)
      return `<a href="${escapeHtml(tagIri(key))}" class="mention hashtag" rel="tag">#<span>${label}</span></a>`
    },
  })
  return { html: linked, tags: [...tags.values()], named }
}

/**
 * Passages that are not the agent's own words: a link already leads somewhere, code stays literal, and a quote is
 * another's text.
 */
const closed: ReadonlySet<string> = new Set(['a', 'code', 'pre', 'blockquote'])
/** A name: `@user@host`, the host in any script. */
const nameSource = String.raw`(?<![\p{L}\p{N}_@/.+-])@[\w.-]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}.-]{0,251}[\p{L}\p{M}\p{N}])?`
/** A tag as Mastodon reads it (`Tag::HASHTAG_RE`): letters and digits of any script, one of them a letter at least. */
const tagSource = String.raw`(?<![\p{L}\p{M}\p{N}_=/)#&])#[\p{L}\p{M}\p{N}_\u00b7\u30fb\u200c]{1,200}(?![\p{L}\p{M}\p{N}_])`
/** Patterns that the others must not match within: addresses, and character references. */
const passedSource = String.raw`(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:\/\/[^\s<>]+|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8});`
const wordPattern = new RegExp(`${passedSource}|(?<name>${nameSource})|(?<tag>${tagSource})`, 'giu')

/** How what is found is written; undefined: it stays text. */
interface InlineWriters {
  name(address: string): string | undefined
  tag(label: string): string | undefined
}

/** Own HTML, in which names (`@user@host`, A-labels, lower case) and tags (without `#`) are written otherwise. Pure. */
export function mapWords(html: string, writers: InlineWriters): string {
  if (!/[@#]/.test(html)) return html
  return mapText(html, text =>
    text.replace(wordPattern, (found, ...rest) => {
      const groups = rest.at(-1) as { readonly name?: string; readonly tag?: string }
      if (groups.name) return writeName(groups.name, writers)
      return groups.tag ? writeTag(groups.tag, writers) : found
    }),
  )
}

function writeName(found: string, writers: InlineWriters): string {
  const address = normalizeName(found)
  return (address && writers.name(address)) ?? found
}

/** Separators at its end belong to the sentence; a tag of digits is a number. */
function writeTag(found: string, writers: InlineWriters): string {
  const label = found.slice(1).replace(/[\u00b7\u30fb\u200c]+$/u, '')
  if (!/[\p{L}\p{M}]/u.test(label)) return found
  const written = writers.tag(label)
  return written === undefined ? found : written + found.slice(1 + label.length)
}

/** One spelling for each address; undefined when it is none. */
function normalizeName(text: string): string | undefined {
  const address = parseIfAddress(decodeEntities(text))
  return address && formatAddress(address)
}

/** Own HTML: tags are complete, and close in order. */
function mapText(html: string, map: (text: string) => string): string {
  let depth = 0
  return html
    .split(/(<[^>]*>)/)
    .map((piece, at) => {
      if (at % 2 === 0) return depth === 0 ? map(piece) : piece
      const [, slash, element = ''] = /^<(\/?)([a-z0-9]+)/i.exec(piece) ?? []
      if (closed.has(element.toLowerCase())) depth += slash ? -1 : 1
      return piece
    })
    .join('')
}

/** A person to notify. */
export interface Mentioned {
  /** Actor IRI. */
  readonly href: string
  /** `@user@host`, or the IRI when the host does not confirm one. */
  readonly name: string
  /** A page to show people. */
  readonly url: string
}

export function writeMention({ name, url }: Mentioned, label = labelOf(name)): string {
  return `<span class="h-card"><a href="${escapeHtml(url)}" class="u-url mention">@<span>${escapeHtml(label)}</span></a></span>`
}

function labelOf(name: string): string {
  return /^@([^@]+)@/.exec(name)?.[1] ?? name
}

/** The visible characters of the names before a text. */
export function mentionLength(mentioned: readonly Pick<Mentioned, 'name'>[]): number {
  return mentioned.reduce((length, { name }) => length + labelOf(name).length + 2, 0)
}

const maxMentions = 20

/** People whom a response mentions besides the author it answers. */
export interface Called {
  /** Those in its `mentions`. */
  readonly chosen: readonly string[]
  /** Further ones that its words name. */
  readonly named: readonly string[]
}

/** People whom a response reaches in any case. */
interface Reached {
  /** The names of the agent itself, as `ownNames` gives them. */
  readonly own: readonly string[]
  /** The author that it answers. */
  readonly author?: string | undefined
}

/**
 * Words call no agent of this gateway: a report names whoever it was asked of (`@one@agents.example: done`), which would ask them again. An
 * agent wakes another one by `mentions`. Pure.
 */
export function findCalled(
  { mentions, parts }: Pick<NormalizedResponse, 'mentions' | 'parts'>,
  { callable = 0 }: Pick<Rendering, 'callable'>,
  { own, author }: Reached,
): Called {
  const known = [author, ...own]
  const chosen = othersMentioned(mentions, known)
  const left = Math.max(0, callable - chosen.length)
  if (left === 0) return { chosen, named: [] }
  const hosts = new Set(own.map(hostOfName))
  const strangers = readNamedWords(parts).names.filter(name => !hosts.has(hostOfName(name)))
  return { chosen, named: othersMentioned(strangers, [...known, ...chosen]).slice(0, left) }
}

/** The host of `@user@host`. */
function hostOfName(name: string): string {
  return name.slice(name.lastIndexOf('@') + 1).toLowerCase()
}

/** An agent goes by the domain of its handle and by the host of its actor: it does not wake itself by either. */
export function ownNames(agent: string, address: string, origin: string): readonly string[] {
  return [address, `@${agent}@${new URL(origin).hostname}`]
}

/** Those an answer mentions, once each, without whom it goes to anyway. */
export function othersMentioned(
  mentions: readonly string[] = [],
  known: readonly (string | undefined)[] = [],
): readonly string[] {
  const named = mentions.map(
    mention => normalizeName(mention) ?? `@${mention.replace(/^(acct:)?@?/i, '').toLowerCase()}`,
  )
  return [...new Set(named)].filter(mention => !known.includes(mention)).slice(0, maxMentions)
}

/**
 * How many people the words of a response may call: none where it is for some only, who did not ask for others to read along; none at the end
 * of a chain of agents (MN-8.3). Pure.
 */
export function countCallable(
  visibility: Rendering['visibility'],
  chain: AgentChain | undefined,
  most: number,
): number {
  return isOpen(visibility) && !isFinalHop(chain) ? most : 0
}
