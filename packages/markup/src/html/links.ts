import type { HtmlAttributes } from '../elements/tokenize-html.ts'
import type { Bookmark, TextSheet } from '../text/text-sheet.ts'
import type { HtmlTextOptions } from './html-text.ts'

interface Link {
  readonly href: string
  readonly isName: boolean
  readonly isOwn: boolean
  readonly isFirst: boolean
  readonly isHidden: boolean
  readonly place: Bookmark
  /** Its text with the hidden parts, by which Mastodon shortens long addresses. */
  whole: string
  hid: boolean
}

/** Shows where links lead. What `open` and `close` return says whether words were hidden. */
interface LinkWriter {
  open(attributes: HtmlAttributes, isHidden: boolean): boolean
  /** True where the text belongs to a link, which judges its hidden parts at its end. */
  take(text: string, isHidden: boolean): boolean
  close(): boolean
  /** Without what stood between a mention that was dropped and what was said. */
  withoutAddress(text: string): string
}

const maxAddress = 2048

export function createLinkWriter(sheet: TextSheet, options: HtmlTextOptions): LinkWriter {
  const findAddress = options.findAddress ?? findKnownAddress
  let link: Link | undefined
  let hasDropped = false

  /** The address decides what a link says: text that pretends to be another one is shown beside it. */
  function close(): boolean {
    if (!link) return false
    const { isOwn, isFirst, place, hid, isHidden } = link
    const isAddress = isSameAddress(link)
    // Many servers mark mentions with no class, or one of their own.
    const isName = link.isName || (isOwn && sheet.since(place).trimStart().startsWith('@'))
    if (isName && isOwn && isFirst) {
      sheet.replaceSince(place, '')
      hasDropped = true
    } else if (!isName && !isHidden) writeAddress(link, isAddress)
    link = undefined
    return hid && !isAddress
  }

  function writeAddress({ href, place, hid }: Link, isAddress: boolean): void {
    const shown = sheet.since(place).trim()
    if (!shown) sheet.append(href)
    else if (!isAddress) sheet.append(` (${href})`)
    else if (hid) sheet.replaceSince(place, href)
  }

  return {
    open(attributes, isHidden) {
      const had = close()
      const written = attributes.get('href') ?? ''
      const href = written.length > maxAddress ? undefined : findAddress(written.trim())
      if (!href) return had
      const isName = /(?:^|\s)(?:mention|hashtag)(?:\s|$)/.test((attributes.get('class') ?? '').slice(0, maxAddress))
      const isOwn = options.isOwnMention?.(href) === true
      const place = sheet.bookmark()
      link = { href, isName, isOwn, isFirst: sheet.isEmpty(), isHidden, place, whole: '', hid: false }
      return had
    },
    take(text, isHidden) {
      if (!link) return false
      if (link.whole.length <= maxAddress) link.whole += text
      if (isHidden) link.hid = true
      return true
    },
    close,
    withoutAddress: text => (hasDropped ? text.replace(afterAddress, '') : text),
  }
}

function findKnownAddress(href: string): string | undefined {
  return /^(?:https?|mailto):/i.test(href) ? href : undefined
}

function isSameAddress({ whole, href }: Link): boolean {
  const text = whole.trim().replace(/\/$/, '')
  const address = href.replace(/\/$/, '')
  return ['', 'https://', 'http://', 'mailto:'].some(scheme => scheme + text === address)
}

/** What stands between an address and what is said to it. */
export const afterAddress = /^\s*[,:](?=\s|$)\s*|^\s+/
