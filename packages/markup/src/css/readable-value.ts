// Checks whether browsers accept the value of a property that can hide text, because they drop a declaration with an invalid value.
import type { Declaration } from './blocks.ts'
import { toPixels } from './values.ts'

const toWordSet = (names: string): ReadonlySet<string> => new Set(names.split(/\s+/))

const globalKeywords = toWordSet('inherit initial unset revert revert-layer')

/** The keywords that each property accepts. */
const keywordsByProperty: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    'display',
    toWordSet(
      `none contents block inline flow flow-root table flex grid ruby math list-item inline-block inline-table inline-flex inline-grid
      table-row-group table-header-group table-footer-group table-row table-cell table-column-group table-column table-caption
      ruby-base ruby-text ruby-base-container ruby-text-container
      -webkit-box -webkit-inline-box -webkit-flex -webkit-inline-flex`,
    ),
  ],
  ['visibility', toWordSet('visible hidden collapse')],
  ['content-visibility', toWordSet('visible auto hidden')],
  ['font-size', toWordSet('xx-small x-small small medium large x-large xx-large xxx-large smaller larger math')],
])

const fractionPattern = /^[+-]?(?:\d{1,20}\.?\d{0,20}|\.\d{1,20})(?:e[+-]?\d{1,3})?%?$/

/** Sample font sizes. Their values do not matter, because only the sign of a length counts here. */
const sampleBase = { fontPx: 16, percentageBasePx: 16 } as const

/** The outer and the inner display of an element, in any order (CSS Display 3 §2). */
const twoKeywordPattern =
  /^(?:block|inline) (?:flow|flow-root|table|flex|grid|ruby|list-item)$|^(?:flow|flow-root|table|flex|grid|ruby|list-item) (?:block|inline)$/

/** The checks of values that are not keywords. */
const numericChecks: ReadonlyMap<string, (value: string) => boolean> = new Map([
  ['opacity', value => fractionPattern.test(value)],
  ['font-size', value => (toPixels(value, sampleBase) ?? -1) >= 0],
])

/** Matches functions whose values browsers check only at the time of use (CSS Values 5 §8). */
const deferredFunctionPattern = /(?:var|env|attr)\(/

/** Returns true if browsers accept the value of a declaration. Any value of a property that is not listed here is accepted. */
export function isAcceptedDeclaration({ name, value }: Declaration): boolean {
  const keywords = keywordsByProperty.get(name)
  const isNumeric = numericChecks.get(name)
  if ((!keywords && !isNumeric) || globalKeywords.has(value) || deferredFunctionPattern.test(value)) return true
  return (
    isNumeric?.(value) === true ||
    keywords?.has(value) === true ||
    (name === 'display' && twoKeywordPattern.test(value))
  )
}
