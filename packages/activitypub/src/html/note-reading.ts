import type { Part } from '@postern/core'
import type { HtmlTextOptions } from '@postern/markup/html'
import { afterAddress, htmlToText, readVisibleCharacters } from '@postern/markup/html'
import type { JsonObject } from '../format/document.ts'
import { asObject, findWebAddress, idOf, isActivityMediaType, listOf, readHref, textOf } from '../format/document.ts'

/** A post as an agent is to read it. */
export interface NoteReading {
  readonly parts: readonly Part[]
  /** Content warning. */
  readonly summary: string | undefined
  readonly isSensitive: boolean
  /** BCP 47, when the peer names it well. */
  readonly language: string | undefined
  readonly hadHidden: boolean
  /** Address of the post it quotes. */
  readonly quote: string | undefined
}

interface OwnNames {
  /** Whether a mention's link leads to an agent of this gateway. */
  isOwnMention(href: string): boolean
  /** `@agent@domain` of those mentioned. */
  readonly addresses: readonly string[]
}

const languagePattern = /^[a-z]{2,3}(-[a-z0-9]{2,8}){0,4}$/i
const maxOptions = 50
const quoteFallback = /^RE: ?https:\/\/\S+$/i

/** Types whose `summary` warns of the content. The `summary` of other types gives their topic. */
const messageTypes: ReadonlySet<unknown> = new Set(['Note', 'Question', 'ChatMessage'])

function isMessage({ type }: JsonObject): boolean {
  return messageTypes.has(type)
}

/** These show their content on their page; only their description can be read here. */
const shownElsewhere: ReadonlySet<unknown> = new Set(['Audio', 'Event', 'Image', 'Video'])

/** Reads a post as parts. Nothing is fetched: attachments stay addresses. */
export function readNote(note: JsonObject, own: OwnNames): NoteReading {
  const quote = findQuote(note)
  const { content, language } = readContent(note)
  const { text, hadHidden } = readPostText(quote ? stripQuoteBlock(content) : content, own)
  const summary = cleanName(readPostText(textOf(note.summary) ?? '').text)
  const addressed = stripOwnAddresses(quote ? stripQuoteFallback(text) : text, own)
  const lines = [...readHeading(note, summary), addressed, ...readOptions(note)]
  const spoken: Part = { kind: 'text', mime: 'text/plain', content: lines.filter(Boolean).join('\n\n') }
  return {
    parts: [spoken, ...toPageLink(note), ...toQuoteLink(quote), ...readAttached(note)],
    summary: isMessage(note) ? summary : undefined,
    isSensitive: note.sensitive === true,
    language,
    hadHidden,
    quote,
  }
}

/** `content` with the language whose text it is; a language tag that is none is passed over. */
function readContent(note: JsonObject): { readonly content: string; readonly language: string | undefined } {
  const content = textOf(note.content)
  const map = Object.entries(asObject(note.contentMap) ?? {}).filter(
    ([tag, text]) => languagePattern.test(tag) && textOf(text) !== undefined,
  )
  const same = map.find(([, candidate]) => candidate === content)
  // A server that knows one language only may still have other marks in this text than in `content`.
  const [language, text] = same ?? (content && map.length > 1 ? [] : (map[0] ?? []))
  return { content: content ?? textOf(text) ?? '', language: language ?? readLanguage(note.language) }
}

/** As Lemmy and PeerTube name it. */
function readLanguage(value: unknown): string | undefined {
  const tag = textOf(asObject(value)?.identifier)
  return tag && languagePattern.test(tag) ? tag : undefined
}

function readHeading(note: JsonObject, summary: string | undefined): readonly string[] {
  const title = cleanName(textOf(note.name))
  const warning = summary && (isMessage(note) ? `Content warning: ${summary}` : summary)
  return [title, warning].filter(line => line !== undefined)
}

/** The address in full at the very beginning, written without a link. */
function stripOwnAddresses(text: string, { addresses }: OwnNames): string {
  for (const address of addresses) {
    const head = text.slice(0, address.length).toLowerCase()
    if (head === address && !/[\w.-]/.test(text[address.length] ?? ''))
      return text.slice(address.length).replace(afterAddress, '')
  }
  return text
}

function readOptions(note: JsonObject): readonly string[] {
  const options = [...listOf(note.oneOf), ...listOf(note.anyOf)].slice(0, maxOptions)
  const names = options.flatMap(option => cleanName(textOf(asObject(option)?.name)) ?? [])
  return names.length > 0 ? [names.map(name => `- ${name}`).join('\n')] : []
}

/**
 * Only the address of the quoted post. Neither a copy of it nor a stamp that allows the quote is believed (FEP-044f,
 * FEP-e232).
 */
function findQuote(note: JsonObject): string | undefined {
  const named = ['quote', 'quoteUrl', '_misskey_quote', 'quoteUri'].map(
    name => readHref(note[name]) ?? idOf(note[name]),
  )
  const linked = listOf(note.tag).map(asObject).filter(isPostLink).map(readHref)
  return findWebAddress([...named, ...linked].find(Boolean))
}

function isPostLink(tag: JsonObject | undefined): boolean {
  return tag?.type === 'Link' && isActivityMediaType(textOf(tag.mediaType))
}

function toQuoteLink(url: string | undefined): readonly Part[] {
  return url ? [{ kind: 'link', url, title: 'Quoted post' }] : []
}

function toPageLink(note: JsonObject): readonly Part[] {
  if (!shownElsewhere.has(note.type)) return []
  const links = listOf(note.url)
  const page = links.find(link => asObject(link)?.mediaType === 'text/html') ?? links[0]
  const url = findWebAddress(readHref(page) ?? idOf(note))
  return url ? [readLink(note, url)] : []
}

/** The same in a block of its own, in front of a mention. */
function stripQuoteBlock(html: string): string {
  const [block] = /^\s*<(p|span)\b[^>]*>.*?<\/\1>/s.exec(html) ?? []
  return block && quoteFallback.test(readPostText(block).text) ? html.slice(block.length) : html
}

/** The text for readers without quotes, at the beginning or the end. */
function stripQuoteFallback(text: string): string {
  const lines = text.split('\n')
  const [first, last] = [lines[0] ?? '', lines.at(-1) ?? '']
  if (quoteFallback.test(first)) return lines.slice(1).join('\n').trim()
  return quoteFallback.test(last) ? lines.slice(0, -1).join('\n').trim() : text
}

/**
 * The attachments of a post, and then its picture (`image`: Lemmy, WordPress, Bridgy Fed), as files and links. Each
 * address counts once. Nothing is fetched.
 */
function readAttached({ attachment, image }: JsonObject): readonly Part[] {
  const pictures = listOf(image).map(value => (typeof value === 'string' ? { url: value } : value))
  const attached = listOf(attachment).flatMap(readAttachment)
  const known = new Set(attached.map(addressOf))
  return [...attached, ...pictures.flatMap(readAttachment).filter(part => !known.has(addressOf(part)))]
}

const fileName = /^[\w.()-]{1,120}\.[a-z0-9]{2,5}$/i

type Attached = Extract<Part, { kind: 'link' | 'file' }>

function addressOf(part: Attached): string | undefined {
  if (part.kind === 'link') return part.url
  return part.bytes_ref.kind === 'url' ? part.bytes_ref.url : undefined
}

function readAttachment(value: unknown): readonly Attached[] {
  const json = asObject(value)
  const url = findWebAddress(readHref(json?.href ?? listOf(json?.url)[0]))
  if (!json || !url) return []
  if (json.type === 'Link' || json.type === 'Page') return [readLink(json, url)]
  const mime = textOf(json.mediaType)
  return [{ kind: 'file', ...readLabel(json), ...(mime && { mime }), bytes_ref: { kind: 'url', url } }]
}

/**
 * Servers describe the picture in `name`, GoToSocial in `summary`. Pleroma writes the file's name into `name` when
 * there is no description.
 */
function readLabel(json: JsonObject): { readonly name?: string; readonly description?: string } {
  const label = textOf(json.name) ?? textOf(json.summary)
  if (label && fileName.test(label)) return { name: label }
  const description = cleanDescription(label)
  return description ? { description } : {}
}

function readLink(json: JsonObject, url: string): Attached {
  const title = cleanName(textOf(json.name))
  return { kind: 'link', url, ...(title && { title }) }
}

/** By these the servers of this network hide parts of a text. */
const hidingClasses: ReadonlySet<string> = new Set(['invisible', 'hidden', 'sr-only', 'visually-hidden', 'd-none'])

/**
 * Plain text of a post: it keeps paragraphs and lists as lines, links with their address, and nothing that is hidden.
 * `hadHidden`: it removed something that a human reader does not see.
 */
export function readPostText(html: string, { isOwnMention }: Pick<HtmlTextOptions, 'isOwnMention'> = {}) {
  const { text, hasHidden, invisible } = htmlToText(html, { isOwnMention, findAddress: findWebAddress, hidingClasses })
  return { text, hadHidden: hasHidden || invisible > tolerated }
}

/** Honest text contains a few invisible characters; a message written in them contains more. */
const tolerated = 8
const maxNameLength = 200
/** As long as servers let people write. */
const maxDescriptionLength = 5_000

/** A display name on one line, without tricks, or undefined when nothing is left. */
export function cleanName(name: string | undefined): string | undefined {
  const line = name && readVisibleCharacters(name).text.replace(/\s+/g, ' ').trim().slice(0, maxNameLength)
  return line || undefined
}

/** The description of a picture, without invisible characters; undefined when nothing is left. */
function cleanDescription(text: string | undefined): string | undefined {
  return (text && readVisibleCharacters(text).text.trim().slice(0, maxDescriptionLength)) || undefined
}
