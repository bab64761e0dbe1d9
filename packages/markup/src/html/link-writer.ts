// Writes links in plain text so that the reader sees where they lead.
import type { HtmlAttributes } from '../elements/elements.ts'
import type { WriteMark } from './inline-marks.ts'
import type { Bookmark, TextSheet } from './text-sheet.ts'

interface Link {
  readonly href: string
  readonly isName: boolean
  readonly isOwn: boolean
  readonly isFirst: boolean
  readonly isHidden: boolean
  readonly textStart: Bookmark
  /** The link's text with its hidden parts, because Mastodon hides parts of long addresses. */
  fullText: string
  hasHiddenText: boolean
}

/** The marks of a syntax other than plain text. */
export interface TextSyntax {
  /** The marks before the text of a heading, by its element. */
  readonly headings: ReadonlyMap<string, string>
  /** The marks of inline elements, in addition to those of plain text. */
  readonly marks: ReadonlyMap<string, WriteMark>
  escape(text: string): string
  link(label: string, href: string): string
  picture(text: string, src: string | undefined, inLink: boolean): string
}

export interface LinkOptions {
  /** The syntax. The default is plain text. */
  readonly syntax?: TextSyntax | undefined

  /** Returns true for a mention of the recipient. At the very beginning a mention is left out, because it only repeats the recipient's address. */
  readonly isOwnMention?: ((href: string) => boolean) | undefined
  /** Returns the address that is shown for a link, or undefined to show none. The default accepts http, https and mailto. */
  readonly findAddress?: ((href: string) => string | undefined) | undefined
}

const maxUrlChars = 2048

/** Creates the writer of links, which shows their addresses. `open` and `close` return true if words were hidden. */
export function createLinkWriter(sheet: TextSheet, options: LinkOptions) {
  const findAddress = options.findAddress ?? findKnownAddress
  let link: Link | undefined
  let hasDroppedMention = false

  /**
   * Closes a link. A text that is the link's own address stands alone. After any other text the address is shown, so that the text cannot pretend to
   * lead elsewhere.
   */
  function close(): boolean {
    if (!link) return false
    const { isOwn, isFirst, textStart, hasHiddenText, isHidden } = link
    const isAddress = isSameAddress(link)
    // Many servers mark mentions with no class, or with a class of their own.
    const isName = link.isName || (isOwn && sheet.textSince(textStart).trimStart().startsWith('@'))
    if (isName && isOwn && isFirst) {
      sheet.replaceSince(textStart, '')
      hasDroppedMention = true
    } else if (!isName && !isHidden) writeAddress(link, isAddress)
    link = undefined
    return hasHiddenText && !isAddress
  }

  function writeAddress({ href, textStart, hasHiddenText }: Link, isAddress: boolean): void {
    const linkText = sheet.textSince(textStart).trim()
    if (options.syntax && linkText) sheet.replaceSince(textStart, options.syntax.link(sheet.textSince(textStart), href))
    else if (!linkText) sheet.append(href)
    else if (!isAddress) sheet.append(` (${href})`)
    else if (hasHiddenText) sheet.replaceSince(textStart, href)
  }

  return {
    open(attributes: HtmlAttributes, isHidden: boolean): boolean {
      const hadHiddenText = close()
      const rawHref = attributes.get('href') ?? ''
      const href = rawHref.length > maxUrlChars ? undefined : findAddress(rawHref.trim())
      if (!href) return hadHiddenText
      const isName = /(?:^|\s)(?:mention|hashtag)(?:\s|$)/.test((attributes.get('class') ?? '').slice(0, maxUrlChars))
      const isOwn = options.isOwnMention?.(href) === true
      const textStart = sheet.bookmark()
      link = { href, isName, isOwn, isFirst: sheet.isEmpty(), isHidden, textStart, fullText: '', hasHiddenText: false }
      return hadHiddenText
    },
    /** Adds text to the open link, whose hidden parts are judged at its end. Returns false outside a link. */
    addText(text: string, isHidden: boolean): boolean {
      if (!link) return false
      if (link.fullText.length <= maxUrlChars) link.fullText += text
      if (isHidden) link.hasHiddenText = true
      return true
    },
    close,
    /** Removes the separator after a mention that was left out. */
    withoutAddress: (text: string) => (hasDroppedMention ? text.replace(addressSeparatorPattern, '') : text),
  }
}

function findKnownAddress(href: string): string | undefined {
  return /^(?:https?|mailto):/i.test(href) ? href : undefined
}

function isSameAddress({ fullText, href }: Link): boolean {
  const text = fullText.trim().replace(/\/$/, '')
  const address = href.replace(/\/$/, '')
  return ['', 'https://', 'http://', 'mailto:'].some(scheme => scheme + text === address)
}

/** Matches the separator between an address and the following text. */
export const addressSeparatorPattern = /^\s*[,:](?=\s|$)\s*|^\s+/
