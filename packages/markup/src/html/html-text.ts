import type { HtmlAttributes } from '../elements/tokenize-html.ts'

/** Text of HTML, and what was taken out of it because a reader does not see it. */
export interface HtmlText {
  readonly text: string
  /** True when words were hidden, or when what hides them cannot be known here. */
  readonly hasHidden: boolean
  /** Characters that show nothing and were taken out. */
  readonly invisible: number
}

export interface HtmlTextOptions {
  /** A mention at the very beginning that leads here is left out: it is the address on the envelope. */
  readonly isOwnMention?: ((href: string) => boolean) | undefined
  /** The address of a link as it is shown; undefined for one that is not. By default http, https and mailto. */
  readonly findAddress?: ((href: string) => string | undefined) | undefined
  /** Classes that hide an element without a style sheet, by what the network agreed on. */
  readonly hidingClasses?: ReadonlySet<string> | undefined
  /** Does an element hold a quotation, as a `blockquote` does? */
  readonly isQuote?: ((name: string, attributes: HtmlAttributes) => boolean) | undefined
  /** Leaves out an element, or it and all that comes after it. */
  readonly omit?: ((name: string, attributes: HtmlAttributes) => 'element' | 'rest' | undefined) | undefined
}
