// Reads a post of another server as message parts: text, content warning, links, attachments and quote.
import type { HtmlTextOptions } from '@postern/markup/html'
import { addressSeparatorPattern, htmlToText } from '@postern/markup/html'
import type { Part } from '@postern/message'
import { escapeHtml } from '@postern/message/html-characters'
import { readVisibleText } from '@postern/message/visible-text'
import { findWebUrl } from '../format/iri.ts'
import type { JsonObject } from '../format/json-object.ts'
import { asObject, idOf, listOf, readHref, textOf } from '../format/json-object.ts'
import { isActivityMediaType } from '../format/media-types.ts'

/** A post in the form that an agent reads. */
export interface NormalizedNote {
  readonly parts: readonly Part[]
  /** The content warning. Undefined if the post has none. */
  readonly summary: string | undefined
  readonly isSensitive: boolean
  /** The language (BCP 47). Undefined if the peer states none or an invalid one. */
  readonly language: string | undefined
  readonly hasHiddenText: boolean
  /** The address of the post that it quotes. Undefined if it quotes none. */
  readonly quote: string | undefined
}

interface OwnMentions {
  /** Returns true if a mention's link leads to an agent of this gateway. */
  isOwnMention(href: string): boolean
  /** The addresses `@agent@domain` of the mentioned agents. */
  readonly addresses: readonly string[]
}

const languagePattern = /^[a-z]{2,3}(-[a-z0-9]{2,8}){0,4}$/i
const maxOptions = 50
const quoteFallbackPattern = /^RE: ?https:\/\/\S+$/i

/** The types whose `summary` is a content warning. For other types it states the topic. */
const messageTypes: ReadonlySet<unknown> = new Set(['Note', 'Question', 'ChatMessage'])

function isMessage({ type }: JsonObject): boolean {
  return messageTypes.has(type)
}

/** The types whose content is shown on their own page. An agent can read only their description. */
const externalMediaTypes: ReadonlySet<unknown> = new Set(['Audio', 'Event', 'Image', 'Video'])

/** Reads a post as message parts. Nothing is fetched, so attachments stay addresses. */
export function normalizeNote(note: JsonObject, ownMentions: OwnMentions): NormalizedNote {
  const quote = findQuote(note)
  const { content, language } = readContent(note)
  const { text, hasHiddenText } = readPostText(quote ? stripQuoteBlock(content) : content, ownMentions)
  const summary = toSingleLine(readPostText(readTranslatedText(note, 'summary') ?? '').text)
  const textWithoutAddresses = stripOwnAddresses(quote ? stripQuoteFallback(text) : text, ownMentions)
  const lines = [...readHeading(note, summary), textWithoutAddresses, ...readOptions(note)]
  const textPart: Part = { kind: 'text', mime: 'text/plain', content: lines.filter(Boolean).join('\n\n') }
  return {
    parts: [textPart, ...toPageLink(note), ...toQuoteLink(quote), ...readAttachments(note)],
    // The warning is read as plain text, because an answer repeats it.
    summary: isMessage(note) && summary ? readVisibleText(summary).text : undefined,
    isSensitive: note.sensitive === true,
    language,
    hasHiddenText,
    quote,
  }
}

/** Reads `content` and the language of its text. An invalid language tag is ignored. */
function readContent(note: JsonObject): { readonly content: string; readonly language: string | undefined } {
  const content = textOf(note.content)
  const languageTexts = Object.entries(asObject(note.contentMap) ?? {}).filter(
    ([tag, text]) => languagePattern.test(tag) && textOf(text) !== undefined,
  )
  const matchingText = languageTexts.find(([, candidate]) => candidate === content)
  // A server that supports only one language may use other markup in this text than in `content`.
  const [language, text] = matchingText ?? (content && languageTexts.length > 1 ? [] : (languageTexts[0] ?? []))
  const source = content ?? textOf(text) ?? ''
  return {
    content: hasPlainContent(note) ? escapePlainText(source) : source,
    language: language ?? readLanguage(note.language),
  }
}

/** Returns true if `content` is plain text. It is HTML unless `mediaType` names another type, as in PeerTube (Activity Vocabulary §4.1). */
function hasPlainContent({ mediaType }: JsonObject): boolean {
  return /^text\/(?:plain|markdown)\s*(?:;|$)/i.test(textOf(mediaType) ?? '')
}

function escapePlainText(text: string): string {
  return escapeHtml(text).replaceAll('\n', '<br>')
}

/** Reads a text of a post, or the first one if it occurs in several languages only. */
function readTranslatedText(json: JsonObject | undefined, term: 'name' | 'summary'): string | undefined {
  const text = textOf(json?.[term])
  return (
    text ??
    Object.values(asObject(json?.[`${term}Map`]) ?? {})
      .map(textOf)
      .find(text => text !== undefined)
  )
}

/** Reads a language as Lemmy and PeerTube write it: an object with an `identifier`. */
function readLanguage(value: unknown): string | undefined {
  const tag = textOf(asObject(value)?.identifier)
  return tag && languagePattern.test(tag) ? tag : undefined
}

function readHeading(note: JsonObject, summary: string | undefined): readonly string[] {
  const title = toSingleLine(readTranslatedText(note, 'name'))
  const warning = summary && (isMessage(note) ? `Content warning: ${summary}` : summary)
  return [title, warning].filter(line => line !== undefined)
}

/** Removes the agent's own full addresses at the very beginning of a text, if they are written without a link. */
function stripOwnAddresses(text: string, { addresses }: OwnMentions): string {
  for (const address of addresses) {
    const beginning = text.slice(0, address.length).toLowerCase()
    if (beginning === address && !/[\w.-]/.test(text[address.length] ?? ''))
      return text.slice(address.length).replace(addressSeparatorPattern, '')
  }
  return text
}

function readOptions(note: JsonObject): readonly string[] {
  const options = [...listOf(note.oneOf), ...listOf(note.anyOf)].slice(0, maxOptions)
  const names = options.flatMap(option => toSingleLine(readTranslatedText(asObject(option), 'name')) ?? [])
  return names.length > 0 ? [names.map(name => `- ${name}`).join('\n')] : []
}

/** Finds the address of the quoted post. Neither a copy of the post nor an approval stamp is trusted (FEP-044f, FEP-e232). */
function findQuote(note: JsonObject): string | undefined {
  const quoteUrls = ['quote', 'quoteUrl', '_misskey_quote', 'quoteUri'].map(
    name => readHref(note[name]) ?? idOf(note[name]),
  )
  const linkedUrls = listOf(note.tag).map(asObject).filter(isPostLink).map(readHref)
  return findWebUrl([...quoteUrls, ...linkedUrls].find(Boolean))
}

function isPostLink(tag: JsonObject | undefined): boolean {
  return tag?.type === 'Link' && isActivityMediaType(textOf(tag.mediaType))
}

function toQuoteLink(url: string | undefined): readonly Part[] {
  return url ? [{ kind: 'link', url, title: 'Quoted post' }] : []
}

function toPageLink(note: JsonObject): readonly Part[] {
  if (!externalMediaTypes.has(note.type)) return []
  const links = listOf(note.url)
  const page = links.find(link => asObject(link)?.mediaType === 'text/html') ?? links[0]
  const url = findWebUrl(readHref(page) ?? idOf(note))
  return url ? [readLink(note, url)] : []
}

/** Removes the fallback for quotes if the fallback is a separate block in front of a mention. */
function stripQuoteBlock(html: string): string {
  const [block] = /^\s*<(p|span)\b[^>]*>.*?<\/\1>/s.exec(html) ?? []
  return block && quoteFallbackPattern.test(readPostText(block).text) ? html.slice(block.length) : html
}

/** Removes the text for readers that do not show quotes, at the beginning or the end. */
function stripQuoteFallback(text: string): string {
  const lines = text.split('\n')
  const [firstLine, lastLine] = [lines[0] ?? '', lines.at(-1) ?? '']
  if (quoteFallbackPattern.test(firstLine)) return lines.slice(1).join('\n').trim()
  return quoteFallbackPattern.test(lastLine) ? lines.slice(0, -1).join('\n').trim() : text
}

/**
 * Reads the attachments of a post, and then its picture (`image`: Lemmy, WordPress, Bridgy Fed), as files and links. Each address is listed once.
 * Nothing is fetched.
 */
function readAttachments({ attachment, image }: JsonObject): readonly Part[] {
  const pictures = listOf(image).map(value => (typeof value === 'string' ? { url: value } : value))
  const attachments = listOf(attachment).flatMap(readAttachment)
  const addresses = new Set(attachments.map(findAttachmentUrl))
  return [...attachments, ...pictures.flatMap(readAttachment).filter(part => !addresses.has(findAttachmentUrl(part)))]
}

const fileNamePattern = /^[\w.()-]{1,120}\.[a-z0-9]{2,5}$/i

type Attachment = Extract<Part, { kind: 'link' | 'file' }>

function findAttachmentUrl(part: Attachment): string | undefined {
  if (part.kind === 'link') return part.url
  return part.bytes_ref.kind === 'url' ? part.bytes_ref.url : undefined
}

function readAttachment(value: unknown): readonly Attachment[] {
  const json = asObject(value)
  const url = findWebUrl(readHref(json?.href ?? listOf(json?.url)[0]))
  if (!json || !url) return []
  if (json.type === 'Link' || json.type === 'Page') return [readLink(json, url)]
  const mime = textOf(json.mediaType)
  return [{ kind: 'file', ...readLabel(json), ...(mime && { mime }), bytes_ref: { kind: 'url', url } }]
}

/**
 * Reads the name and the description of an attachment. Servers describe the picture in `name`, and GoToSocial in `summary`. Pleroma writes the
 * file's name into `name` if there is no description.
 */
function readLabel(json: JsonObject): { readonly name?: string; readonly description?: string } {
  const label = textOf(json.name) ?? textOf(json.summary)
  if (label && fileNamePattern.test(label)) return { name: label }
  const description = cleanDescription(label)
  return description ? { description } : {}
}

function readLink(json: JsonObject, url: string): Attachment {
  const title = toSingleLine(textOf(json.name))
  return { kind: 'link', url, ...(title && { title }) }
}

/** The classes with which servers of this network hide parts of a text. */
const hidingClasses: ReadonlySet<string> = new Set(['invisible', 'hidden', 'sr-only', 'visually-hidden', 'd-none'])

/**
 * Reads the plain text of a post. Paragraphs and lists become lines, and links keep their address. Hidden text is removed, and then `hasHiddenText`
 * is true.
 */
export function readPostText(html: string, { isOwnMention }: Pick<HtmlTextOptions, 'isOwnMention'> = {}) {
  const { text, hasHidden } = htmlToText(html, { isOwnMention, findAddress: findWebUrl, hidingClasses })
  return { text, hasHiddenText: hasHidden }
}

const maxNameLength = 200
/** The longest description of a picture, in characters. Servers allow people to write that much. */
const maxDescriptionLength = 5_000

/** Returns a display name on one line, or undefined if nothing is left after cleaning. */
export function toSingleLine(name: string | undefined): string | undefined {
  const line = name?.replace(/\s+/g, ' ').trim().slice(0, maxNameLength)
  return line || undefined
}

/** Returns the description of a picture, or undefined if nothing is left after cleaning. */
function cleanDescription(text: string | undefined): string | undefined {
  return text?.trim().slice(0, maxDescriptionLength) || undefined
}
